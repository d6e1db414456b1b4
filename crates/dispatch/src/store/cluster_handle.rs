//! The cluster of any store, as its nodes use it.

use std::ops::Deref;
use std::sync::Arc;

use super::sole_cluster::SoleCluster;
use super::{Cluster, DeliveryStore};

/// The cluster of a store: its own, or a cluster of one.
#[derive(Clone, Debug)]
pub(crate) enum ClusterHandle {
    /// A store that several nodes share.
    Shared(Arc<dyn DeliveryStore>),
    /// A store for one node.
    Sole(Arc<SoleCluster>),
}

impl ClusterHandle {
    pub(crate) fn of(store: &Arc<dyn DeliveryStore>) -> Self {
        match store.cluster() {
            Some(_) => Self::Shared(Arc::clone(store)),
            None => Self::Sole(Arc::new(SoleCluster::new(Arc::clone(store)))),
        }
    }
}

impl Deref for ClusterHandle {
    type Target = dyn Cluster;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Shared(store) => store.cluster().expect("the store of this handle is shared"),
            Self::Sole(cluster) => &**cluster,
        }
    }
}
