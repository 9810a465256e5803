//! The guide through its public surface, on real folders and a real git.

mod answers;
mod fixture;
mod limits;
mod oddities;
mod outside;
mod sessions;
