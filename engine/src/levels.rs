//! Change points of a series by least absolute deviations: the inner loops of
//! `shootout/analysis/change_points.py`, which gives the method and the literature.

/// The indexes at which a new level begins: the cuts that minimise the absolute deviations from each piece's
/// median plus `penalty` per cut. Each piece has at least `shortest` values.
pub fn cuts(values: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let mut levels: Vec<Level> =
        sorted(values).into_iter().map(|value| Level { value, cost: f64::INFINITY, begin: 0 }).collect();
    // For each number of values: the least cost, and where its last piece begins.
    let mut best = vec![(f64::INFINITY, 0); values.len() + 1];
    best[0].0 = 0.0;
    for end in 1..=values.len() {
        let fresh = end.checked_sub(shortest).map(|begin| {
            let fee = if begin > 0 { penalty } else { 0.0 };
            (begin, best[begin].0 + fee)
        });
        for level in &mut levels {
            level.cost += (values[end - 1] - level.value).abs();
            if let Some((begin, before)) = fresh {
                let cost = before + deviations(&values[begin..end], level.value);
                if cost < level.cost {
                    (level.cost, level.begin) = (cost, begin);
                }
            }
            if level.cost < best[end].0 {
                best[end] = (level.cost, level.begin);
            }
        }
    }
    let mut found: Vec<usize> = std::iter::successors(Some(values.len()), |&end| Some(best[end].1))
        .skip(1)
        .take_while(|&cut| cut > 0)
        .collect();
    found.reverse();
    found
}

/// A value of the series as the level of the last piece.
struct Level {
    value: f64,
    /// Least cost of the values so far.
    cost: f64,
    /// Where the last piece begins.
    begin: usize,
}

/// Finds what the best single cut takes off the absolute deviations, for each order of the values.
///
/// # Panics
/// If an order is not a permutation of the indexes.
pub fn saved(values: &[f64], orders: &[Vec<usize>], shortest: usize) -> Vec<f64> {
    let mut by_size: Vec<usize> = (0..values.len()).collect();
    by_size.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    for (rank, &index) in by_size.iter().enumerate() {
        ranks[index] = rank;
    }
    let ascending = sorted(values);
    let of_order = |order: &Vec<usize>| {
        let ahead: Vec<usize> = order.iter().map(|&index| ranks[index]).collect();
        let back: Vec<usize> = ahead.iter().rev().copied().collect();
        let (ahead, back) = (growing(&ascending, &ahead), growing(&ascending, &back));
        let whole = ahead[values.len()];
        let cut = (shortest..=values.len() - shortest).map(|cut| ahead[cut] + back[values.len() - cut]);
        whole - cut.fold(f64::INFINITY, f64::min)
    };
    if values.len() < 2 * shortest { vec![0.0; orders.len()] } else { orders.iter().map(of_order).collect() }
}

/// The absolute deviations of the first n values from their median, for every n.
///
/// `ranks`: the values in their order, as indexes into `ascending`. Works backwards: from a list linked by size
/// it removes the newest value again and again, which takes that value's distance from the middle off the sum
/// and moves the middle by at most one link.
fn growing(ascending: &[f64], ranks: &[usize]) -> Vec<f64> {
    let count = ranks.len();
    let half = count / 2;
    let mut sums = vec![0.0; count + 1];
    sums[count] = ascending[count - half..].iter().sum::<f64>() - ascending[..half].iter().sum::<f64>();

    // Links are indexes into `ascending` plus one; 0 and the last are sentinels.
    let value = |link: usize| ascending[link - 1];
    let mut before: Vec<usize> = (0..count + 2).map(|link| link.saturating_sub(1)).collect();
    let mut after: Vec<usize> = (1..count + 3).collect();
    let mut middle = half + 1; // the upper one of an even number
    for left in (1..count).rev() {
        let gone = ranks[left] + 1;
        let (smaller, larger) = (before[gone], after[gone]);
        // An even number has two middles, which give the same sum: take the one that stays.
        let odd_stay = left % 2 == 1;
        if odd_stay && gone >= middle {
            middle = before[middle];
        }
        let nearest = middle;
        if !odd_stay && gone <= middle {
            middle = after[middle];
        }
        sums[left] = (sums[left + 1] - (value(gone) - value(nearest)).abs()).max(0.0);
        (after[smaller], before[larger]) = (larger, smaller);
    }
    sums
}

fn deviations(values: &[f64], from: f64) -> f64 {
    values.iter().map(|value| (value - from).abs()).sum()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut found = values.to_vec();
    found.sort_by(f64::total_cmp);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_sums_match_the_definition() {
        let values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.5, 6.0];
        let ranks = [3, 0, 4, 1, 6, 2, 5];
        for (count, sum) in growing(&sorted(&values), &ranks).into_iter().enumerate() {
            let first = sorted(&values[..count]);
            let expected = if first.is_empty() { 0.0 } else { deviations(&first, first[count / 2]) };
            assert!((sum - expected).abs() < 1e-12, "{count} values: {sum}, not {expected}");
        }
    }

    #[test]
    fn a_step_is_found() {
        let values = [1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9, 2.0];
        assert_eq!(cuts(&values, 1.0, 3), [4]);
        assert!(cuts(&values, 5.0, 3).is_empty());
        let order: Vec<usize> = (0..values.len()).collect();
        assert!((saved(&values, &[order], 3)[0] - (4.0 - 0.4)).abs() < 1e-12); // whole, and both pieces
    }

    #[test]
    fn short_series_have_no_cut() {
        for count in 0..6 {
            let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            assert!(cuts(&values[..count], 0.0, 3).is_empty());
            assert_eq!(saved(&values[..count], &[(0..count).collect()], 3), [0.0]);
        }
    }
}
