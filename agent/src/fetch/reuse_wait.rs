//! One connection per visit: a request that follows another waits until the connection is back in
//! the pool.
//!
//! A task of the client returns a connection to the pool, some microseconds after the body's end.
//! A request in between would open a second connection. Even if the first is returned in time, the
//! client would still open the second in the background, unused. So a request that follows another
//! on a kept-alive connection first waits a moment for it, and a connection that is not needed any
//! more is not opened.

use crivello_common::metrics::Timer;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Layer, Service};

/// Time for the first connection to return to the pool. If it takes longer, the server has closed
/// it without notice.
const REUSE_WAIT: Duration = Duration::from_millis(50);

tokio::task_local! {
    static FOLLOWS: ();
}

/// Sends a request. If it `follows` another, it uses the connection of that one if possible.
pub(super) async fn send<F: Future>(follows: bool, request: F) -> F::Output {
    if follows { FOLLOWS.scope((), request).await } else { request.await }
}

/// Layer that wraps the client's connector in [`ReuseWaitConnector`], with a timer of its
/// connections.
#[derive(Clone, Debug)]
pub(super) struct ReuseWaitLayer(pub(super) Timer);

impl<S> Layer<S> for ReuseWaitLayer {
    type Service = ReuseWaitConnector<S>;

    fn layer(&self, connector: S) -> ReuseWaitConnector<S> {
        ReuseWaitConnector(connector, self.0.clone())
    }
}

/// Connector that delays a new connection while another is about to return to the pool.
#[derive(Clone, Debug)]
pub(super) struct ReuseWaitConnector<S>(S, Timer);

/// Error in place of a new connection. Nobody receives it: the request has its connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection of the previous request returned to the pool")]
struct ConnectionReturned;

impl<S, R> Service<R> for ReuseWaitConnector<S>
where
    S: Service<R, Error = BoxError>,
    S::Response: 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let connection = self.0.call(request);
        let connects = self.1.clone();
        let connection = async move {
            let began = connects.start();
            let connected = connection.await;
            if connected.is_ok() {
                connects.stop(began);
            }
            connected
        };
        if FOLLOWS.try_with(|()| ()).is_err() {
            return Box::pin(connection);
        }
        let asker = tokio::task::try_id();
        Box::pin(async move {
            tokio::time::sleep(REUSE_WAIT).await;
            // The client moves a connection that nobody waits for any more to a separate task.
            if tokio::task::try_id() != asker {
                return Err(ConnectionReturned.into());
            }
            connection.await
        })
    }
}
