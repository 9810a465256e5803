//! Prompts and folders of all kinds.

use mia_api::Image;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::World;

#[tokio::test]
async fn m_011_odd_prompts_reach_the_model_as_they_are_and_none_is_in_argv() {
    let Some(world) = World::new().await else {
        return;
    };
    let canary = "canary-5d1c";
    let odd = ["-v", "--help", "-", "/nosuchcommand with words", "!ls", "# note", "  blanks  "];
    let asked = odd.map(|prompt| {
        let world = &world;
        async move { world.ask(&format!("{prompt}\n{canary}\nECHO")).await }
    });
    let mut held = world.start(world.dispatch(&format!("{canary}\nPRE here\nGATE open\nSAY !")));
    held.until_said("here").await;
    let shown = mia_testkit::proc::with_argument(canary);
    assert_eq!(shown, [], "the prompt is in nobody's arguments");
    world.llm.open("open");
    held.end().await;
    for (ran, prompt) in futures::future::join_all(asked).await.iter().zip(odd) {
        let said = ran.answer();
        assert!(said.contains(prompt.trim()) && said.contains(canary), "{prompt:?}: {said:?}");
    }
}

#[tokio::test]
async fn m_011_a_prompt_of_1_000_000_bytes() {
    let Some(world) = World::new().await else {
        return;
    };
    let mut prompt = "x".repeat(1_000_000 - 14);
    prompt.push_str("\nSAY read it all");
    let ran = world.ask(&prompt).await;
    assert_eq!(ran.answer(), "read it all");
    let log = world.llm.log();
    assert!(log.turns().last().unwrap().bytes > 1_000_000);
}

#[tokio::test]
async fn m_026_a_folder_with_blanks_and_unicode_and_an_image() {
    let Some(world) = World::new().await else {
        return;
    };
    let folder = world.home.work().join("a b ü 漢 'q\"");
    std::fs::create_dir(&folder).unwrap();
    let mut dispatch = world.dispatch("TOOL bash pwd\nSAY seen");
    dispatch.options.working_directory = folder.clone();
    // The smallest PNG.
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    dispatch.options.images.push(Image {
        media_type: "image/png".to_owned(),
        data: data.to_owned(),
        name: None,
    });
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "seen");
    assert_eq!(ran.results()[0].output, folder.to_str().unwrap());
    let log = world.llm.log();
    let body = log.turns().next().unwrap().body.clone().unwrap();
    let images: Vec<_> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .filter(|block| block["type"] == "image")
        .collect();
    assert_eq!(images.len(), 1);
    assert_eq!(images[0]["source"]["media_type"], json!("image/png"));
    assert!(!images[0]["source"]["data"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn m_011_an_empty_prompt_and_one_with_a_nul_byte() {
    let Some(world) = World::new().await else {
        return;
    };
    let nul = world.ask("before\0after\nECHO").await;
    assert_eq!(nul.answer(), "before\0after\nECHO");
    // Claude has its own words around it, so the model is asked all the same.
    assert!(!world.ask("").await.answer().is_empty());
}
