//! A running dispatcher: the floor, the store and the sender, joined.

mod arrivals;
mod node;
mod options;
mod submission;

pub use arrivals::{Arrivals, Second};
pub use node::Node;
pub use options::NodeOptions;
pub use submission::Submission;
