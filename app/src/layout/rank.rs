//! The column of each node: the length of the longest path that leads to it.

use super::Graph;

/// Ranks from 0. Edges that close a circle are left out, found from the first node in order, so always the same ones.
pub(super) fn ranks(graph: &Graph) -> Vec<usize> {
    let mut after = vec![Vec::new(); graph.nodes.len()];
    for (from, to) in &graph.edges {
        after[*from].push(*to);
    }
    let mut ranks = vec![0; graph.nodes.len()];
    for node in topological(&mut after).into_iter() {
        for next in &after[node] {
            ranks[*next] = ranks[*next].max(ranks[node] + 1);
        }
    }
    ranks
}

/// All nodes, each before those behind it; edges back into the current path are removed from `after`.
fn topological(after: &mut [Vec<usize>]) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; after.len()];
    let mut done = Vec::with_capacity(after.len());
    for start in 0..after.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut path = vec![(start, 0)];
        while let Some((node, place)) = path.last_mut() {
            let node = *node;
            let Some(next) = after[node].get(*place).copied() else {
                marks[node] = Mark::Done;
                done.push(node);
                path.pop();
                continue;
            };
            match marks[next] {
                Mark::Open => drop(after[node].remove(*place)),
                Mark::Done => *place += 1,
                Mark::New => {
                    *place += 1;
                    marks[next] = Mark::Open;
                    path.push((next, 0));
                }
            }
        }
    }
    done.reverse();
    done
}
