//! Groups of rollouts and their scores.
