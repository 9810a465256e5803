//! Which language a file is written in, by its name.

use std::path::Path;

/// The language of a file; none for pictures, data, and what is not known.
pub(super) fn of(path: &Path) -> Option<&'static str> {
    match path.file_name()?.to_str()? {
        "Makefile" | "makefile" | "GNUmakefile" => return Some("Make"),
        "Dockerfile" | "Containerfile" => return Some("Dockerfile"),
        "CMakeLists.txt" => return Some("CMake"),
        _ => {}
    }
    Some(match path.extension()?.to_str()? {
        "rs" => "Rust",
        "ts" | "tsx" | "mts" | "cts" => "TypeScript",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "py" | "pyi" => "Python",
        "go" => "Go",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "scala" => "Scala",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "C++",
        "cs" => "C#",
        "swift" => "Swift",
        "m" | "mm" => "Objective-C",
        "rb" => "Ruby",
        "php" => "PHP",
        "pl" | "pm" => "Perl",
        "lua" => "Lua",
        "r" | "R" => "R",
        "jl" => "Julia",
        "hs" => "Haskell",
        "ml" | "mli" => "OCaml",
        "ex" | "exs" => "Elixir",
        "erl" | "hrl" => "Erlang",
        "clj" | "cljs" | "cljc" => "Clojure",
        "dart" => "Dart",
        "zig" => "Zig",
        "nix" => "Nix",
        "sh" | "bash" | "zsh" | "fish" => "Shell",
        "ps1" => "PowerShell",
        "sql" => "SQL",
        "html" | "htm" => "HTML",
        "css" | "scss" | "sass" | "less" => "CSS",
        "vue" => "Vue",
        "svelte" => "Svelte",
        "proto" => "Protocol Buffers",
        "tf" => "Terraform",
        "tex" => "TeX",
        "md" | "markdown" | "rst" | "adoc" => "Documentation",
        "toml" | "yaml" | "yml" | "json" | "xml" | "ini" => "Configuration",
        _ => return None,
    })
}

/// True for what comes along with code and says little about what a project is.
pub(super) fn is_beside_code(language: &str) -> bool {
    matches!(language, "Documentation" | "Configuration")
}
