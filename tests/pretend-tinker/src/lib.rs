//! A server for tests that speaks Tinker's wire.
