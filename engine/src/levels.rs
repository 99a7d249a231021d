//! Where a series changes its level, by least absolute deviations. What is asked for, and the literature, is
//! in `shootout/changes.py`; here is what would take too long there.

/// The indexes at which a new level begins, so that the absolute deviations from each piece's median, and the
/// penalty for each cut, sum up to the least there is. Each piece holds at least `shortest` values.
pub fn cuts(values: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let mut levels: Vec<Level> =
        sorted(values).into_iter().map(|value| Level { value, cost: f64::INFINITY, begin: 0 }).collect();
    // By how many values there are: the least cost, and where its newest piece begins.
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

/// A value of the series as the level of the newest piece.
struct Level {
    value: f64,
    /// Of the values so far.
    cost: f64,
    /// Where the piece begins.
    begin: usize,
}

/// How much less the absolute deviations are with the best single cut, for each order of the values.
///
/// # Panics
/// Where an order has an index that no value has, or one twice.
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

/// The sum of absolute deviations from their median of the first values, by how many these are.
///
/// `ranks`: the values in their order, each by its place among all of them, which are `ascending`. Backwards:
/// the values, linked in the order of their size, lose the newest one again and again. That takes its
/// distance from the middle off the sum, and moves the middle by one link at most.
fn growing(ascending: &[f64], ranks: &[usize]) -> Vec<f64> {
    let count = ranks.len();
    let half = count / 2;
    let mut sums = vec![0.0; count + 1];
    sums[count] = ascending[count - half..].iter().sum::<f64>() - ascending[..half].iter().sum::<f64>();

    // Links are places in `ascending` plus one: at 0 and at the end is nothing.
    let value = |link: usize| ascending[link - 1];
    let mut before: Vec<usize> = (0..count + 2).map(|link| link.saturating_sub(1)).collect();
    let mut after: Vec<usize> = (1..count + 3).collect();
    let mut middle = half + 1; // of an even number: the upper of both
    for left in (1..count).rev() {
        let gone = ranks[left] + 1;
        let (smaller, larger) = (before[gone], after[gone]);
        // Of an even number the sum goes by either of both in the middle: by the one that is left.
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
    fn sums_are_those_of_the_definition() {
        let values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.5, 6.0];
        let ranks = [3, 0, 4, 1, 6, 2, 5];
        for (count, sum) in growing(&sorted(&values), &ranks).into_iter().enumerate() {
            let first = sorted(&values[..count]);
            let expected = if first.is_empty() { 0.0 } else { deviations(&first, first[count / 2]) };
            assert!((sum - expected).abs() < 1e-12, "{count} values: {sum}, not {expected}");
        }
    }

    #[test]
    fn a_step_is_cut_where_it_is() {
        let values = [1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9, 2.0];
        assert_eq!(cuts(&values, 1.0, 3), [4]);
        assert!(cuts(&values, 5.0, 3).is_empty());
        let order: Vec<usize> = (0..values.len()).collect();
        assert!((saved(&values, &[order], 3)[0] - (4.0 - 0.4)).abs() < 1e-12); // whole, and both pieces
    }

    #[test]
    fn what_is_short_has_no_cut() {
        for count in 0..6 {
            let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            assert!(cuts(&values[..count], 0.0, 3).is_empty());
            assert_eq!(saved(&values[..count], &[(0..count).collect()], 3), [0.0]);
        }
    }
}
