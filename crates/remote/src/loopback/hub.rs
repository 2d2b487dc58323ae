//! A hub (stands in until its client is here).
