//! Retry settings of gRPC, Envoy, resilience4j and Polly as policies, with what could not be mapped.
#![forbid(unsafe_code)]
