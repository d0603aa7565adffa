//! Which of several coordinators is active.

use super::api::{Condition, EtcdApi, EtcdLease, TxnOutcome};
use super::{ActiveUntil, EtcdRecord};
use crate::error::CoordinatorError;
use crate::state::{Record, StoredSettings};
use crivello_common::time::{Clock, Timestamp};
use crivello_proto::tls::Tls;
use crivello_proto::with_causes;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tonic::Status;

/// Pause between two looks at the active coordinator.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Renewals of a lease in the time that it lasts.
const RENEWALS: u32 = 5;
/// Minimum time between two log messages about the same problem.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Where etcd is, and what this coordinator is called there.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// URLs of its members, separated by commas: `http://`, or `https://` with TLS.
    pub urls: String,
    /// Beginning of all keys; one for each crawl.
    pub prefix: String,
    /// Certificate of this process for etcd.
    pub tls: Option<Tls>,
    /// Name of this coordinator for people.
    pub name: String,
    /// Time after which another coordinator becomes active if this one is silent, in whole seconds. etcd may make it longer.
    pub lease: Duration,
}

/// A coordinator among others.
#[derive(Debug)]
pub struct Election {
    options: EtcdOptions,
    api: EtcdApi,
    clock: Clock,
}

/// The time of a coordinator as the active one. It ends when this is dropped, or when etcd is not reached in time.
#[derive(Debug)]
pub struct Active {
    pub(crate) until: ActiveUntil,
    pub(crate) record: EtcdRecord,
    renewal: JoinHandle<()>,
    api: EtcdApi,
    lease: i64,
}

impl Election {
    /// Prepares the client of etcd. It must be called within a runtime.
    ///
    /// # Errors
    /// [`CoordinatorError::Refused`] if an address is invalid.
    pub fn new(options: EtcdOptions, clock: Clock) -> Result<Self, CoordinatorError> {
        let api = EtcdApi::at(&options.urls, options.tls.as_ref())
            .map_err(|why| CoordinatorError::Refused(format!("--etcd {}: {why}", options.urls)))?;
        Ok(Self { options, api, clock })
    }

    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.options.prefix.trim_end_matches('/'))
    }

    /// Returns the stored settings of the crawl; `None` if none was begun. Waits while etcd does not answer.
    ///
    /// # Errors
    /// [`CoordinatorError::Broken`] if the record is damaged.
    pub async fn stored_settings(&self) -> Result<Option<StoredSettings>, CoordinatorError> {
        let key = self.key("record");
        let found = self.until_answered(async || self.api.get(&key).await).await;
        let record = found.map(|found| Record::decode(&found.value)).transpose();
        let record =
            record.map_err(|what| CoordinatorError::Broken(format!("{key} in etcd is {what}")))?;
        Ok(record.map(|record| record.settings))
    }

    /// Waits until no other coordinator is active, and makes this one the active one.
    pub async fn stand_by(&self) -> Active {
        let active_key = self.key("active");
        let mut active_name = String::new();
        loop {
            if let Some(other) = self.until_answered(async || self.api.get(&active_key).await).await
            {
                let name = String::from_utf8_lossy(&other.value).into_owned();
                if name != active_name {
                    tracing::info!("the coordinator {name} is active; this one is standing by");
                    active_name = name;
                }
                sleep(LOOK_EVERY).await;
                continue;
            }
            if let Some(active) =
                self.until_answered(async || self.attempt(&active_key).await).await
            {
                return active;
            }
        }
    }

    /// Creates the key of the active coordinator. `None` if another one was first.
    async fn attempt(&self, active_key: &str) -> Result<Option<Active>, Status> {
        let EtcdOptions { name, lease, .. } = &self.options;
        let asked = self.clock.now();
        let EtcdLease { id, lasts } = self.api.grant_lease(*lease).await?;
        let puts = vec![(active_key, name.clone().into_bytes(), id)];
        let created = self.api.write(&[Condition::Created(active_key, 0)], puts).await;
        let created = match created {
            Ok(TxnOutcome::Written(revision)) => revision,
            // With an unknown result, the key may have been created.
            not_created => {
                let _ = self.api.end_lease(id).await;
                return not_created.map(|_| None);
            }
        };
        let until = Arc::new(AtomicU64::new((asked + lasts).0));
        let until = ActiveUntil { until, clock: self.clock };
        let record = EtcdRecord {
            api: self.api.clone(),
            runtime: Handle::current(),
            active: until.clone(),
            active_key: active_key.to_owned(),
            created,
            key: self.key("record"),
            written: 0,
        };
        let (api, clock) = (self.api.clone(), self.clock);
        let renewal = tokio::spawn(renew(api.clone(), id, lasts, until.clone(), clock));
        Ok(Some(Active { until, record, renewal, api, lease: id }))
    }

    async fn until_answered<T>(&self, call: impl AsyncFn() -> Result<T, Status>) -> T {
        let mut logged_at: Option<Timestamp> = None;
        loop {
            match call().await {
                Ok(answer) => return answer,
                Err(status) => {
                    let now = self.clock.now();
                    if logged_at.is_none_or(|last| now.since(last) >= LOG_EVERY) {
                        logged_at = Some(now);
                        let urls = &self.options.urls;
                        tracing::warn!("etcd at {urls}, trying again: {}", with_causes(&status));
                    }
                    sleep(LOOK_EVERY).await;
                }
            }
        }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.until.end();
        self.renewal.abort();
    }
}

impl Active {
    /// Ends the time as the active coordinator, so that another one need not wait for the end of the lease.
    pub async fn end(self) {
        self.until.end();
        // Otherwise the lease ends by itself.
        let _ = self.api.end_lease(self.lease).await;
    }
}

/// Renews the lease until it has ended.
async fn renew(api: EtcdApi, lease: i64, lasts: Duration, until: ActiveUntil, clock: Clock) {
    while until.is_active() {
        sleep(lasts / RENEWALS).await;
        let asked = clock.now();
        match api.renew_lease(lease).await {
            Ok(Some(lasts)) => until.extend(asked + lasts),
            Ok(None) => until.end(),
            Err(status) => tracing::warn!("etcd: {}; trying again", with_causes(&status)),
        }
    }
}
