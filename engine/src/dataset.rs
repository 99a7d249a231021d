//! A dataset's description in JSON, and the row generator for each kind.

use serde::Deserialize;

use crate::rows::Tables;
use crate::sbtest::Sbtest;
use crate::tpcc::Tpcc;

/// The part of shootout's `Dataset` that determines rows.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Dataset {
    Sbtest { tables: usize, rows: u64, seed: u64 },
    Tpcc { warehouses: u64, seed: u64 },
    Own {},
}

/// The row generator for a dataset described in JSON.
pub fn parse(json: &[u8]) -> Result<Box<dyn Tables>, String> {
    let dataset: Dataset = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    Ok(match dataset {
        Dataset::Sbtest { tables, rows, seed } => Box::new(Sbtest::new(tables, rows, seed)),
        Dataset::Tpcc { warehouses, seed } => Box::new(Tpcc::new(warehouses, seed)),
        Dataset::Own {} => Box::new(Sbtest::new(0, 0, 0)), // the workload creates its tables
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_is_read_from_json() {
        let json =
            br#"{"kind": "sbtest", "tables": 2, "rows": 30, "warehouses": 1, "seed": 4, "engine": "InnoDB"}"#;
        let tables = parse(json).unwrap().tables();
        assert_eq!(
            tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(),
            ["sbtest1", "sbtest2"]
        );
        assert!(tables.iter().all(|table| table.units == 30 && table.columns == ["id", "k", "c", "pad"]));
        let tpcc =
            br#"{"kind": "tpcc", "tables": 1, "rows": 1, "warehouses": 3, "seed": 4, "engine": "InnoDB"}"#;
        let tables = parse(tpcc).unwrap().tables();
        assert_eq!((tables[0].name.as_str(), tables[0].units), ("warehouse", 3));
        let own =
            br#"{"kind": "own", "tables": 1, "rows": 1, "warehouses": 1, "seed": 1, "engine": "InnoDB"}"#;
        assert!(parse(own).unwrap().tables().is_empty());
        assert!(parse(b"{}").is_err());
        assert!(parse(br#"{"kind": "other", "tables": 1, "rows": 1, "seed": 1}"#).is_err());
    }
}
