//! The only place that turns settings into objects.
