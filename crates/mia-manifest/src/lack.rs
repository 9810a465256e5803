//! What people expect of a plugin and this one can't do.

use mia_api::PermissionPolicy;
use mia_plugin::{Ability, Lack};

use crate::model::{Manifest, Manner, Rule};
use crate::template::Given;

impl Manifest {
    /// What people expect of a plugin and this one can't do.
    #[must_use]
    pub fn lacks(&self) -> Vec<Lack> {
        let mut lacks = Vec::new();
        let mut lack = |is: bool, ability: Ability, shows: &str| {
            lacks.extend(is.then(|| Lack::new(ability, shows)));
        };
        let any = |is: &dyn Fn(&Rule) -> bool| self.any_rule(is);
        let streams =
            |rule: &Rule| rule.text.as_ref().is_some_and(|said| said.manner != Manner::Whole);
        lack(!any(&streams), Ability::Deltas, "its answer shows a whole message at a time");
        let thinks = any(&|rule| rule.thought.is_some());
        lack(!thinks, Ability::Thoughts, "its thinking is not shown");
        let calls = any(&|rule| rule.tool_call.is_some());
        // A call in a rule without its result shows when the tool begins.
        let open = any(&|rule| rule.tool_call.is_some() && rule.tool_result.is_none());
        lack(!calls, Ability::OpenTools, "its tools are not shown");
        if calls && !open {
            let name = &self.name;
            let shows = format!(
                "a tool shows only when it has ended, and its silence until then has \
                 plugins.{name}.stall_timeout as its limit"
            );
            lack(true, Ability::OpenTools, &shows);
        }
        let settled = "it can't ask whether it may: that is settled before it starts";
        lack(true, Ability::Questions, settled);
        let policies = [
            (PermissionPolicy::ReadOnly, Ability::ReadOnly),
            (PermissionPolicy::Edit, Ability::Edit),
            (PermissionPolicy::Full, Ability::Full),
        ];
        for (policy, ability) in policies {
            let refused = self.permissions.of(Some(policy)).is_none();
            lack(refused, ability, &format!("--permissions {policy} is refused"));
        }
        lack(true, Ability::Images, "pictures are refused");
        let in_args = self.args.iter().any(|arg| arg.takes(Given::Prompt));
        lack(in_args, Ability::LongPrompts, "a prompt over 128 KiB is refused");
        lack(!self.takes_model(), Ability::Model, "a model can't be chosen");
        let told = "no session is resumed: each turn is told what was said before";
        lack(!self.resumes(), Ability::Resume, told);
        let usage = |is: &dyn Fn(&crate::model::UsageAt) -> bool| {
            any(&|rule| rule.usage.as_ref().is_some_and(is))
        };
        let tokens = usage(&|at| at.input.is_some() || at.output.is_some());
        lack(!tokens, Ability::Usage, "it does not tell its tokens");
        lack(!usage(&|at| at.cost.is_some()), Ability::Cost, "it does not tell its cost");
        lacks
    }
}
