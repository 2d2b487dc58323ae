//! The real binary, run as a user runs it.

mod binary;
mod browser;
mod config;
mod defaults;
mod doctor;
mod export;
mod generate;
mod help;
mod hostile_run;
mod hub;
mod model_info;
mod model_new;
mod prepare;
mod quickstart;
mod recipes;
mod reference;
mod report;
mod report_page;
mod score;
mod teach;
mod teach_kill;
mod tiny_model;
mod tiny_school;
mod train;
mod train_kill;
mod validate;
