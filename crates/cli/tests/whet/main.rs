//! The real binary, run as a user runs it.

mod binary;
mod config;
mod defaults;
mod doctor;
mod eval;
mod export;
mod generate;
mod help;
mod hub;
mod model_info;
mod model_new;
mod prepare;
mod quickstart;
mod recipes;
mod reference;
mod score;
mod teach;
mod teach_kill;
mod tiny_model;
mod tiny_school;
mod train;
mod train_kill;
mod validate;
