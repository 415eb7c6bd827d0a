//! Suite `chart`: how it is run in a cluster. The chart is rendered by real helm; what is generated is compared with the code.

mod cluster;
mod dockerfile;
pub(crate) mod guide;
mod passes_through;
mod plugin;
mod pod;
mod render;
mod rights;
mod shapes;
