//! Suite `cnpg_drill`: the drill of a CNPG database inside of a cluster, against a real API server, an actor in the place of CNPG's
//! operator that restores with barman-cloud's own programs, and a real PostgreSQL behind the port-forward.

mod kill;
mod objects;
mod stage;
mod whole;
