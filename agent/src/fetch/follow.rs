//! One connection a visit: a request that follows another waits for its connection to come back.
//!
//! The client's pool gets a connection back from a task of its own, some microseconds after the
//! body's end. A request that asks in between would open a second connection, and even when the
//! first comes back in time the second is opened all the same, in the background, for nothing. So
//! here a request that follows another on a connection that was kept alive gives the first a
//! moment to come back; and a connection that is no longer waited for is not opened.

use crivello_common::metrics::Timer;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Layer, Service};

/// The first connection has this long to come back. Longer than that, and it is gone: the server
/// closed it without saying so.
const MOMENT: Duration = Duration::from_millis(50);

tokio::task_local! {
    static FOLLOWS: ();
}

/// Sends a request that, if it `follows`, goes over the connection of the request before.
pub(super) async fn send<F: Future>(follows: bool, request: F) -> F::Output {
    if follows { FOLLOWS.scope((), request).await } else { request.await }
}

/// Puts [`Patient`] around the client's connector, which says how long its connections take.
#[derive(Clone, Debug)]
pub(super) struct Patience(pub(super) Timer);

impl<S> Layer<S> for Patience {
    type Service = Patient<S>;

    fn layer(&self, connector: S) -> Patient<S> {
        Patient(connector, self.0.clone())
    }
}

/// A connector that is in no hurry where a connection is about to come back.
#[derive(Clone, Debug)]
pub(super) struct Patient<S>(S, Timer);

/// Why nothing was connected to. Nobody hears it: the request has its connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection of the request before came back")]
struct CameBack;

impl<S, R> Service<R> for Patient<S>
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
            tokio::time::sleep(MOMENT).await;
            // What nobody waits for any more the client moves to a task of its own.
            if tokio::task::try_id() != asker {
                return Err(CameBack.into());
            }
            connection.await
        })
    }
}
