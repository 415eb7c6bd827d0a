//! The language of drills: text → checked plan. Pure.
