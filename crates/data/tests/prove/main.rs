//! Validations from file to file, with a judge that runs nothing. The real judge is asked where
//! there is a binary that can be one, in the tests of the command line.

mod fake;
mod files;
mod kill;
