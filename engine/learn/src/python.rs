//! `LogReader` of the Python module `shootout._engine`; `shootout/learn/reader.pyi` documents it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::Reader;
use crate::statement::Options;
use crate::templates::Cost;
use crate::values::{hash, written};

#[pyclass(module = "shootout._engine")]
struct LogReader(Reader);

#[pymethods]
impl LogReader {
    #[new]
    #[pyo3(signature = (families = Vec::new()))]
    fn new(families: Vec<String>) -> Self {
        let families = families.into_iter().map(String::into_bytes).collect();
        Self(Reader::new(Options { families }))
    }

    fn feed(&mut self, py: Python<'_>, bytes: &[u8]) {
        let reader = &mut self.0;
        py.detach(|| reader.feed(bytes));
    }

    fn digested(&mut self, text: &[u8], count: u64, seconds: f64, rows_examined: u64, rows_sent: u64) {
        let cost = Cost { seconds, rows_examined, rows_sent };
        self.0.digested(text, count, cost);
    }

    fn end_file(&mut self) {
        self.0.end_file();
    }

    fn finish(&mut self, py: Python<'_>) -> Py<PyBytes> {
        let reader = std::mem::replace(&mut self.0, Reader::new(Options::default()));
        PyBytes::new(py, &py.detach(|| reader.finish())).unbind()
    }
}

#[pyfunction]
fn value_hash(value: &[u8]) -> u64 {
    written(hash(value))
}

/// Adds the class and the function to the engine's module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LogReader>()?;
    module.add_function(wrap_pyfunction!(value_hash, module)?)
}
