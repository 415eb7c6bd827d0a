//! The only user of the S3 client: list, get, range, put, head, multipart, probe.
//!
//! [`Store`] is what everybody else takes. It sits on `dyn ObjectCalls`, so the same code runs live ([`s3`]), recording and
//! replaying. Reads are free to all; whatever writes goes through [`guard`].

pub mod config;
mod endpoint;
pub mod error;
mod error_words;
pub mod guard;
pub mod keys;
mod list_live;
mod list_page;
pub mod listing;
pub mod probe;
pub mod s3;
mod s3_calls;
mod s3_wire;
pub mod stream;

mod open;

pub use config::{StoreConfig, StoreIdentity};
pub use endpoint::{default_region, dialect_of, dialect_shown, endpoint_host};
pub use error::{At, StoreError};
pub use guard::Guarded;
pub use listing::{ListEnd, Listed};
pub use open::Store;
pub use stream::{Head, Object, ObjectStream};
