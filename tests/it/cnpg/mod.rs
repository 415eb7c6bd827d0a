//! Suite `cnpg`: Clusters and what belongs to them, from an API server to facts, gaps and archives in the second wave.

mod live;
mod locations;
mod numbers;
mod real;
mod recording;
pub(crate) mod scene;
mod second_wave;
mod watching;
mod wire;
