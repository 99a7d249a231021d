//! The Python module `shootout._engine`; `_engine.pyi` documents its types and errors.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::address::Address;
use crate::connection::{Failure, Target};
use crate::dataset;
use crate::engine;
use crate::histogram;
use crate::lane::{Course, Tally};
use crate::levels;
use crate::load::{LoadOptions, load};
use crate::login::Account;
use crate::program::Program;
use crate::rows::{self, Table, Tables};

create_exception!(_engine, LoadError, PyException);

/// Longest silence of the server during a load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);

#[pyclass(module = "shootout._engine")]
#[derive(Default)]
struct Histogram(histogram::Histogram);

#[pymethods]
impl Histogram {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[staticmethod]
    fn decode(text: &str) -> PyResult<Self> {
        histogram::Histogram::decode(text)
            .map(Self)
            .map_err(|error| PyValueError::new_err(format!("not a histogram: {error}")))
    }

    #[pyo3(signature = (*, plain = false))]
    fn encode(&self, plain: bool) -> String {
        self.0.encode(plain)
    }

    #[allow(clippy::needless_pass_by_value)] // PyO3 cannot lend it
    fn rounded(&self, bits: u32, exact: Vec<(f64, f64)>) -> Self {
        Self(self.0.rounded(bits, &exact))
    }

    fn record(&mut self, nanoseconds: u64) {
        self.0.record(nanoseconds);
    }

    fn add(&mut self, other: &Self) {
        self.0.add(&other.0);
    }

    fn percentile(&self, percent: f64) -> f64 {
        self.0.percentile_s(percent)
    }

    fn buckets(&self) -> Vec<(f64, u64)> {
        self.0.buckets()
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    #[getter]
    fn mean_s(&self) -> f64 {
        self.0.mean_s()
    }

    #[getter]
    fn min_s(&self) -> f64 {
        self.0.min_s()
    }

    #[getter]
    fn max_s(&self) -> f64 {
        self.0.max_s()
    }
}

/// Kind, code, how often, and a message of the server.
type Refusals = Vec<(usize, u16, u64, String)>;

#[pyclass(module = "shootout._engine", get_all, frozen)]
struct Slice {
    transactions: f64,
    window_s: f64,
    completed: u64,
    reads: u64,
    writes: u64,
    other: u64,
    errors: BTreeMap<u16, u64>,
    refusals: Refusals,
    client_cpu_s: f64,
    latencies: Py<Histogram>,
    statements: Vec<Py<Histogram>>,
    returned: Vec<(u64, u64, u64)>,
    stopped_s: f64,
}

#[pyclass(module = "shootout._engine")]
struct Engine(engine::Engine);

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (program, seed, workers = 1))]
    fn new(program: &[u8], seed: u64, workers: usize) -> PyResult<Self> {
        let program = Program::parse(program)
            .map_err(|error| PyValueError::new_err(format!("not a workload program: {error}")))?;
        Ok(Self(engine::Engine::new(program, seed, workers)))
    }

    #[allow(clippy::too_many_arguments)]
    fn connect(
        &mut self,
        py: Python<'_>,
        address: &str,
        user: String,
        password: String,
        schema: String,
        connections: usize,
        timeout_s: f64,
    ) -> PyResult<usize> {
        let account = Account { user, password, schema };
        let timeout = duration(timeout_s)?;
        let server = self.0.servers();
        let engine = &mut self.0;
        reach(py, server, address, &account, |target, keep_going| {
            engine.connect(target, connections, timeout, keep_going)
        })
    }

    fn slice(
        &mut self,
        py: Python<'_>,
        server: usize,
        ramp_s: f64,
        window_s: f64,
        timeout_s: f64,
    ) -> PyResult<Slice> {
        let course = Course { ramp: duration(ramp_s)?, window: duration(window_s)?, transactions: None };
        let tally = self.tally(py, server, course, timeout_s)?;
        let wrap = |histogram| Py::new(py, Histogram(histogram));
        Ok(Slice {
            transactions: tally.transactions,
            window_s,
            completed: tally.completed,
            reads: tally.reads,
            writes: tally.writes,
            other: tally.other,
            errors: tally.errors,
            refusals: listed(tally.refusals),
            client_cpu_s: tally.client_cpu_s,
            latencies: wrap(tally.latencies)?,
            statements: tally.statements.into_iter().map(wrap).collect::<PyResult<_>>()?,
            returned: tally.returned.into_iter().map(|(count, all)| (count, all.rows, all.bytes)).collect(),
            stopped_s: tally.stopped_s,
        })
    }

    fn count(
        &mut self,
        py: Python<'_>,
        server: usize,
        transactions: u64,
        timeout_s: f64,
    ) -> PyResult<(u64, u64, Refusals)> {
        let tally = self.tally(py, server, Course::counted(transactions.max(1)), timeout_s)?;
        Ok((tally.completed, tally.reads + tally.writes + tally.other, listed(tally.refusals)))
    }
}

impl Engine {
    fn tally(&mut self, py: Python<'_>, server: usize, course: Course, timeout_s: f64) -> PyResult<Tally> {
        let (engine, timeout) = (&mut self.0, duration(timeout_s)?);
        let result = interruptible(py, |keep_going| engine.slice(server, course, timeout, keep_going))?;
        result.map_err(|failure| load_error(server, failure))
    }
}

fn listed(refusals: BTreeMap<(usize, u16), (u64, String)>) -> Refusals {
    refusals.into_iter().map(|((kind, code), (count, message))| (kind, code, count, message)).collect()
}

/// Runs `work` without the GIL, and passes it a function that checks for signals and is false after one.
fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&dyn Fn() -> bool) -> T + Send) -> PyResult<T> {
    let signal = Mutex::new(None);
    let keep_going = || {
        let raised = Python::attach(|py| py.check_signals()).err();
        let keep_going = raised.is_none();
        *signal.lock().expect("never held across a panic") = raised;
        keep_going
    };
    let result = py.detach(|| work(&keep_going));
    match signal.into_inner().expect("never held across a panic") {
        Some(raised) => Err(raised),
        None => Ok(result),
    }
}

/// Runs `attempt` as `interruptible` does, for each address of a server until a host answers.
fn reach<T: Send>(
    py: Python<'_>,
    server: usize,
    address: &str,
    account: &Account,
    mut attempt: impl FnMut(Target, &dyn Fn() -> bool) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let said = |error: &io::Error| format!("{address}: {error}");
    let result = interruptible(py, |keep_going| match Address::all(address) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Err(said(&error)),
        Err(error) => Ok(Err(Failure::unknown_host(said(&error)))),
        Ok(found) => Ok(Target::reach(found, account, &mut |target| attempt(target, keep_going))),
    })?;
    result.map_err(PyValueError::new_err)?.map_err(|failure| load_error(server, failure))
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn load_error(server: usize, failure: Failure) -> PyErr {
    LoadError::new_err((server, failure.code, failure.message))
}

fn dataset_of(json: &[u8]) -> PyResult<Box<dyn Tables>> {
    dataset::parse(json).map_err(|error| PyValueError::new_err(format!("not a dataset: {error}")))
}

#[pyfunction]
#[pyo3(signature = (address, user, password, schema, dataset, workers, *, insert_bytes = None, logged = false))]
#[allow(clippy::too_many_arguments)]
fn load_rows(
    py: Python<'_>,
    address: &str,
    user: String,
    password: String,
    schema: String,
    dataset: &[u8],
    workers: usize,
    insert_bytes: Option<usize>,
    logged: bool,
) -> PyResult<u64> {
    let dataset = dataset_of(dataset)?;
    let options = LoadOptions { insert: insert_bytes, logged };
    reach(py, 0, address, &Account { user, password, schema }, |target, keep_going| {
        load(&target, LOAD_TIMEOUT, &*dataset, workers, options, keep_going)
    })
}

#[pyfunction]
fn tables(dataset: &[u8]) -> PyResult<Vec<(String, Vec<&'static str>)>> {
    let tables = dataset_of(dataset)?.tables();
    Ok(tables.into_iter().map(|table| (table.name, table.columns.to_vec())).collect())
}

#[pyfunction]
fn checksum(py: Python<'_>, dataset: &[u8], table: usize) -> PyResult<(u64, u64)> {
    let dataset = dataset_of(dataset)?;
    let Some(Table { units, .. }) = dataset.tables().into_iter().nth(table) else {
        return Err(PyIndexError::new_err(format!("the dataset has no table {table}")));
    };
    Ok(py.detach(|| rows::checksum(&*dataset, table, units)))
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn cuts(values: Vec<f64>, penalty: f64, shortest: usize) -> Vec<usize> {
    levels::cuts(&values, penalty, shortest)
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn saved(values: Vec<f64>, orders: Vec<Vec<usize>>, shortest: usize) -> PyResult<Vec<f64>> {
    let fits = |order: &Vec<usize>| {
        let mut left = vec![true; values.len()];
        order.len() == values.len()
            && order.iter().all(|&index| left.get_mut(index).is_some_and(std::mem::take))
    };
    if !orders.iter().all(fits) {
        return Err(PyValueError::new_err("an order is not a permutation of the indexes"));
    }
    Ok(levels::saved(&values, &orders, shortest))
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("LoadError", module.py().get_type::<LoadError>())?;
    module.add_class::<Histogram>()?;
    module.add_class::<Slice>()?;
    module.add_class::<Engine>()?;
    shootout_learn::python::add_to(module)?;
    module.add_function(wrap_pyfunction!(load_rows, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    module.add_function(wrap_pyfunction!(cuts, module)?)?;
    module.add_function(wrap_pyfunction!(saved, module)?)
}
