//! The client against a server that behaves and misbehaves.
