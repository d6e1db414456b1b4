//! Opinions about an outcome, the HTTP and gRPC tables, and how opinions merge.
