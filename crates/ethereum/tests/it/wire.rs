//! A connection between service and node that can be cut.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// Forwards bytes from its own port. It ends when dropped.
pub(crate) struct Wire {
    pub(crate) port: u16,
    cuts: watch::Sender<u64>,
    closed: Arc<AtomicBool>,
    hangs: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Wire {
    pub(crate) async fn to(upstream: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cuts, cut) = watch::channel(0);
        let closed = Arc::new(AtomicBool::new(false));
        let (hangs, silent) = watch::channel(false);
        let shut = Arc::clone(&closed);
        let task = tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut silent = silent.clone();
                if shut.load(Ordering::Acquire) {
                    continue;
                }
                let mut cut = cut.clone();
                cut.mark_unchanged();
                tokio::spawn(async move {
                    // Ends with the wire at the latest.
                    let _ = silent.wait_for(|silent| !*silent).await;
                    // If the node is not there, the connection ends.
                    let Ok(mut far) = TcpStream::connect(("127.0.0.1", upstream)).await else { return };
                    tokio::select! {
                        _ = cut.changed() => {}
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                    }
                });
            }
        });
        Self { port, cuts, closed, hangs, task }
    }

    /// Sets whether new connections are closed at once.
    pub(crate) fn close(&self, closed: bool) {
        self.closed.store(closed, Ordering::Release);
    }

    /// Accepts new connections from now on, and forwards nothing.
    pub(crate) fn hang(&self) {
        self.hangs.send_replace(true);
    }

    /// Forwards connections again, those that were held too.
    pub(crate) fn answer(&self) {
        self.hangs.send_replace(false);
    }

    /// Cuts every connection. New ones are forwarded.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}
