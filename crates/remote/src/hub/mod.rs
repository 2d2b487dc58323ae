//! Files of data sets and models, from a hub.
