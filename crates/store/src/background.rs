//! A thread that writes what waits for the disk, again until the disk takes it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::StoreError;

/// Messages that may wait for a thread. One wake-up is enough however much there is to write.
const MESSAGES: usize = 16;

/// Writes to a disk on a background thread.
pub(crate) trait Writer: Send + 'static {
    /// Requests that a caller waits for.
    type Request: Send + 'static;
    /// Why a write failed.
    type Error;

    /// Writes everything that waits.
    fn write(&mut self) -> Result<(), Self::Error>;

    /// Returns the pause after a failed write before the next try.
    fn pause(&mut self) -> Duration;

    /// Answers a request, after a write that ended as `written` says.
    fn answer(&mut self, request: Self::Request, written: Result<(), Self::Error>);
}

#[derive(Debug)]
enum Message<R> {
    /// Something waits.
    Wake,
    Request(R),
}

/// A background thread with a [`Writer`]. When dropped, it writes once more and ends.
#[derive(Debug)]
pub(crate) struct Background<R> {
    messages: Option<SyncSender<Message<R>>>,
    thread: Option<JoinHandle<()>>,
}

impl<R: Send + 'static> Background<R> {
    pub(crate) fn spawn(name: &str, writer: impl Writer<Request = R>) -> Result<Self, StoreError> {
        let (messages, inbox) = sync_channel(MESSAGES);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || run(writer, &inbox));
        let thread = thread.map_err(|_| StoreError::WriterStopped)?;
        Ok(Self { messages: Some(messages), thread: Some(thread) })
    }

    /// Tells the thread that something waits. Never blocks.
    pub(crate) fn wake(&self) {
        if let Some(messages) = &self.messages {
            // A full inbox makes the thread write anyway.
            let _ = messages.try_send(Message::Wake);
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask<T>(&self, request: impl FnOnce(SyncSender<T>) -> R) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        let messages = self.messages.as_ref().ok_or(StoreError::WriterStopped)?;
        messages.send(Message::Request(request(reply))).map_err(|_| StoreError::WriterStopped)?;
        answer.recv().map_err(|_| StoreError::WriterStopped)
    }
}

impl<R> Drop for Background<R> {
    fn drop(&mut self) {
        drop(self.messages.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run<W: Writer>(mut writer: W, inbox: &Receiver<Message<W::Request>>) {
    let mut retry_at = None;
    loop {
        let message = next(inbox, retry_at);
        let written = writer.write();
        retry_at = written.is_err().then(|| Instant::now() + writer.pause());
        match message {
            Some(Message::Wake) => {}
            Some(Message::Request(request)) => writer.answer(request, written),
            None => return,
        }
    }
}

/// Waits for the next message; `None` when no more can come. After a failed write wake-ups count only from `retry_at`
/// on, so that new work neither hurries nor puts off the next try.
fn next<R>(inbox: &Receiver<Message<R>>, retry_at: Option<Instant>) -> Option<Message<R>> {
    let Some(retry_at) = retry_at else { return inbox.recv().ok() };
    loop {
        let left = retry_at.saturating_duration_since(Instant::now());
        match inbox.recv_timeout(left) {
            Ok(Message::Wake) if !left.is_zero() => {}
            Ok(message) => return Some(message),
            Err(RecvTimeoutError::Timeout) => return Some(Message::Wake),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression test: every block that arrived during the pause started the pause again, so that the market was not
    /// written until blocks stopped.
    #[test]
    fn wake_ups_do_not_put_off_the_next_try() {
        let (messages, inbox) = sync_channel::<Message<()>>(MESSAGES);
        let ends_at = Instant::now() + Duration::from_secs(20);
        let waker =
            std::thread::spawn(move || while Instant::now() < ends_at && messages.send(Message::Wake).is_ok() {});
        let retry_at = Instant::now() + Duration::from_millis(50);
        assert!(matches!(next(&inbox, Some(retry_at)), Some(Message::Wake)), "the wake-ups ended before it was tried");
        assert!((retry_at..ends_at).contains(&Instant::now()), "at its time, while wake-ups still came");
        drop(inbox);
        waker.join().unwrap();
    }
}
