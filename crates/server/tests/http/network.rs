//! A network between a service and a Redis server, which a test slows down or cuts.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream, unix};
use tokio::sync::watch;

/// What happens to what passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Network {
    Open,
    /// Each answer arrives this much later.
    Slow(Duration),
    /// Nothing passes, and connections stay open.
    Cut,
}

/// Listens on a port of its own for connections to a server's socket. Returns the URL, and what sets the network's
/// state.
pub(crate) async fn network(socket: PathBuf) -> (String, watch::Sender<Network>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}/", listener.local_addr().unwrap());
    let (set, state) = watch::channel(Network::Open);
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let (socket, state) = (socket.clone(), state.clone());
            tokio::spawn(async move {
                let (mut asked, mut answered) = client.into_split();
                let (mut answers, mut server) = UnixStream::connect(socket).await.unwrap().into_split();
                let mut is_cut = state.clone();
                let was_cut = tokio::select! {
                    _ = tokio::io::copy(&mut asked, &mut server) => false,
                    () = pass(&mut answers, &mut answered, state) => false,
                    _ = is_cut.wait_for(|state| *state == Network::Cut) => true,
                };
                if was_cut {
                    // Keeps both connections open.
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    (url, set)
}

/// Passes a server's answers on until a side closes.
async fn pass(
    answers: &mut unix::OwnedReadHalf,
    client: &mut tokio::net::tcp::OwnedWriteHalf,
    state: watch::Receiver<Network>,
) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let Ok(count @ 1..) = answers.read(&mut bytes).await else { return };
        let state = *state.borrow();
        if let Network::Slow(delay) = state {
            tokio::time::sleep(delay).await;
        }
        if client.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
