//! The location of a store, a folder or a database, and the cluster of any store, as its nodes use it.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use stagger_scheduler::model::MessageId;

use super::sole_cluster::SoleCluster;
use super::sqlite::{check, has_store};
use super::{
    Cluster, DeliveryStore, EncryptionKeys, Health, PostgresAddress, PostgresOptions,
    PostgresStore, SqliteOptions, SqliteStore, check_postgres, migrate_postgres,
};
use crate::Error;

/// The data folder of an embedded store, or the address of a PostgreSQL database.
///
/// ```
/// use stagger_store::StorePlace;
/// let place: StorePlace = "postgres://me:hunter2@db.example/shop".parse()?;
/// assert_eq!(place.to_string(), "postgres://me@db.example:5432/shop");
/// assert_eq!("stagger-data".parse::<StorePlace>()?.to_string(), "stagger-data");
/// # Ok::<(), stagger_store::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// The data folder of an embedded store.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Database(Box<PostgresAddress>),
}

impl StorePlace {
    /// Looks through the store, and only reads; also while it is served.
    ///
    /// # Errors
    /// There is none, it cannot be read, is of another release, or is damaged.
    pub async fn check(&self) -> Result<Health, Error> {
        match self {
            Self::Folder(folder) => check(folder),
            Self::Database(address) => check_postgres(address).await,
        }
    }

    /// Brings the store to this release's version; a database that is empty gets its tables. The version
    /// that it has then.
    ///
    /// # Errors
    /// There is no store in the folder, or another process uses it; it cannot be written; it is of
    /// a later release.
    pub async fn migrate(&self) -> Result<u32, Error> {
        match self {
            Self::Folder(folder) => {
                SqliteStore::migrate(there(folder)?)?;
            }
            Self::Database(address) => {
                migrate_postgres(address).await?;
            }
        }
        Ok(self.check().await?.version)
    }

    /// Opens a store that is there.
    pub(super) async fn open(&self, keys: &EncryptionKeys) -> Result<Opened, Error> {
        Ok(match self {
            Self::Folder(folder) => {
                there(folder)?;
                self.make(keys).await?
            }
            Self::Database(_) => self.make(keys).await?,
        })
    }

    /// Opens a store, and makes it if it is not there.
    pub(super) async fn make(&self, keys: &EncryptionKeys) -> Result<Opened, Error> {
        Ok(match self {
            Self::Folder(folder) => {
                let options = SqliteOptions::default();
                Opened::Folder(SqliteStore::open_with_keys(folder, options, keys.clone())?)
            }
            Self::Database(address) => {
                let options = PostgresOptions::default();
                let opened = PostgresStore::open_with_keys(address, options, keys.clone()).await?;
                Opened::Database(Box::new(opened))
            }
        })
    }
}

/// An open store of either kind.
#[derive(Debug)]
pub(super) enum Opened {
    Folder(SqliteStore),
    Database(Box<PostgresStore>),
}

impl Opened {
    pub(super) fn store(&self) -> &dyn DeliveryStore {
        match self {
            Self::Folder(store) => store,
            Self::Database(store) => &**store,
        }
    }

    /// Prepares for messages that were accepted long ago.
    pub(super) async fn make_room(&self, messages: &[MessageId]) -> Result<(), Error> {
        match self {
            Self::Folder(_) => Ok(()),
            Self::Database(store) => store.make_days(messages).await,
        }
    }

    /// Records whether a copy is being written into it; until the copy is complete, it cannot be
    /// opened.
    pub(super) async fn mark_copy(&self, under_way: bool) -> Result<(), Error> {
        match self {
            Self::Folder(store) => store.mark_copy(under_way).await,
            Self::Database(store) => store.mark_copy(under_way).await,
        }
    }
}

fn there(folder: &Path) -> Result<&Path, Error> {
    if has_store(folder) {
        return Ok(folder);
    }
    Err(Error::store(format!("{}: the folder contains no store", folder.display())))
}

impl FromStr for StorePlace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if PostgresAddress::is_meant(text) {
            return Ok(Self::Database(Box::new(text.parse()?)));
        }
        if text.is_empty() || text.contains("://") {
            return Err(Error::invalid("store", "(not shown)", "a folder, or postgres://..."));
        }
        Ok(Self::Folder(PathBuf::from(text)))
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Database(address) => address.fmt(f),
        }
    }
}

/// The cluster of a store: its own, or a cluster of one.
#[derive(Clone, Debug)]
pub struct ClusterHandle(ClusterKind);

#[derive(Clone, Debug)]
enum ClusterKind {
    /// A store that several nodes share.
    Shared(Arc<dyn DeliveryStore>),
    /// A store for one node.
    Sole(Arc<SoleCluster>),
}

impl ClusterHandle {
    /// The cluster of `store`.
    #[must_use]
    pub fn of(store: &Arc<dyn DeliveryStore>) -> Self {
        Self(match store.cluster() {
            Some(_) => ClusterKind::Shared(Arc::clone(store)),
            None => ClusterKind::Sole(Arc::new(SoleCluster::new(Arc::clone(store)))),
        })
    }
}

impl Deref for ClusterHandle {
    type Target = dyn Cluster;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            ClusterKind::Shared(store) => {
                store.cluster().expect("the store of this handle is shared")
            }
            ClusterKind::Sole(cluster) => &**cluster,
        }
    }
}
