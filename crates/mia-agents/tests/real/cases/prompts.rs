//! Prompts and folders of all kinds.

use mia_api::{Cause, ErrorCode, Image};
use mia_plugin::Ability;
use pretty_assertions::assert_eq;

use crate::world::{Real, World};

pub(crate) async fn m_011_odd_prompts_arrive_and_none_is_an_argument<A: Real>(world: World<A>) {
    let canary = "canary-5d1c";
    let odd = ["-v", "--help", "-", "/nosuchcommand with words", "before\0after", "@nosuchfile"];
    for two in odd.chunks(2) {
        let asked = two.iter().map(|prompt| {
            let world = &world;
            async move { world.ask(&format!("{prompt}\n{canary}\nECHO")).await }
        });
        for (ran, prompt) in futures::future::join_all(asked).await.iter().zip(two) {
            let said = ran.answer();
            assert!(said.contains(prompt) && said.contains(canary), "{prompt:?}: {said:?}");
        }
    }
    let before = world.llm.log().turns().count();
    let held = world.start(world.dispatch(&format!("{canary}\nPRE here\nGATE open\nSAY !")));
    world.until_asked(before + 1).await;
    let shown = mia_testkit::proc::with_argument(canary);
    assert_eq!(shown, [], "the prompt is in nobody's arguments");
    world.llm.open("open");
    assert_eq!(held.end().await.answer(), "here!");
}

pub(crate) async fn m_011_a_prompt_of_1_000_000_bytes<A: Real>(world: World<A>) {
    let mut prompt = "x".repeat(1_000_000 - 14);
    prompt.push_str("\nSAY read it all");
    let ran = world.ask(&prompt).await;
    if world.can(Ability::LongPrompts) {
        assert_eq!(ran.answer(), "read it all");
        let log = world.llm.log();
        assert!(log.turns().last().unwrap().bytes > 1_000_000);
    } else {
        let error = ran.error();
        assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(Cause::TooLong)));
    }
}

pub(crate) async fn m_026_a_folder_with_blanks_and_unicode<A: Real>(world: World<A>) {
    let folder = world.home.work().join(A::ODD_FOLDER);
    std::fs::create_dir(&folder).unwrap();
    let mut dispatch = world.dispatch("TOOL bash pwd > seen.txt\nTOOL write made.txt x\nSAY seen");
    dispatch.options.permissions = Some(mia_api::PermissionPolicy::Full);
    dispatch.options.working_directory = folder.clone();
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "seen");
    let seen = std::fs::read_to_string(folder.join("seen.txt")).unwrap();
    assert_eq!(seen.trim(), folder.to_str().unwrap());
    assert!(folder.join("made.txt").is_file());
}

pub(crate) async fn m_026_a_picture<A: Real>(world: World<A>) {
    let mut dispatch = world.dispatch("SAY seen");
    // The smallest PNG.
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    dispatch.options.images.push(Image {
        media_type: "image/png".to_owned(),
        data: data.to_owned(),
        name: None,
    });
    let ran = world.run(dispatch).await;
    if world.can(Ability::Images) {
        assert_eq!(ran.answer(), "seen");
        let log = world.llm.log();
        let body = log.turns().next().unwrap().body.clone().unwrap().to_string();
        assert!(body.contains("image/png"), "{body}");
        assert!(body.contains("iVBORw0KGgo"), "{body}");
    } else {
        // Never left out in silence.
        assert_eq!(ran.error().cause, Some(Cause::InvalidRequest), "{ran:?}");
        assert!(ran.error().message.contains("picture"), "{ran:?}");
        assert_eq!(world.llm.log().total, 0);
    }
}
