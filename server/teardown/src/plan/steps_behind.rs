//! How many steps wait behind each step, one behind the other. Where more calls are ready than may be sent at once, the step
//! with the most steps behind it goes first, because the end of the run waits for that path.

use super::Plan;

impl Plan {
    /// For each step, by its number: the steps on the longest path behind it, each of which waits for the one before.
    pub fn steps_behind(&self) -> Vec<u32> {
        let mut behind = vec![0; self.steps.len()];
        // Steps are ordered so that each comes after those that it waits for.
        for step in self.steps.iter().rev() {
            let through = behind.get(step.id.0 as usize).map_or(0, |steps| steps + 1);
            for blocker in &step.after {
                if let Some(steps) = behind.get_mut(blocker.step.0 as usize) {
                    *steps = through.max(*steps);
                }
            }
        }
        behind
    }
}
