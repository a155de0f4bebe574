//! Which language a file is in, by its name. The names of languages are the protocol's.

use vocab::path::WorkspacePath;

/// Ends of names, and what they say.
#[rustfmt::skip]
const EXTENSIONS: &[(&str, &str)] = &[
    ("py", "python"), ("pyi", "python"), ("rs", "rust"), ("go", "go"), ("java", "java"), ("kt", "kotlin"),
    ("c", "c"), ("h", "c"), ("cc", "cpp"), ("cpp", "cpp"), ("cxx", "cpp"), ("hh", "cpp"), ("hpp", "cpp"),
    ("cs", "csharp"), ("swift", "swift"), ("m", "objective-c"), ("zig", "zig"), ("ts", "typescript"),
    ("mts", "typescript"), ("cts", "typescript"), ("tsx", "typescriptreact"), ("js", "javascript"),
    ("mjs", "javascript"), ("cjs", "javascript"), ("jsx", "javascriptreact"), ("vue", "vue"),
    ("svelte", "svelte"), ("html", "html"), ("css", "css"), ("scss", "scss"), ("less", "less"),
    ("json", "json"), ("jsonc", "jsonc"), ("yaml", "yaml"), ("yml", "yaml"), ("toml", "toml"), ("md", "markdown"),
    ("rb", "ruby"), ("php", "php"), ("lua", "lua"), ("sh", "shellscript"), ("bash", "shellscript"),
    ("ex", "elixir"), ("exs", "elixir"), ("erl", "erlang"), ("hs", "haskell"), ("ml", "ocaml"), ("scala", "scala"),
    ("clj", "clojure"), ("dart", "dart"), ("r", "r"), ("jl", "julia"), ("nix", "nix"), ("tf", "terraform"),
    ("sql", "sql"), ("tex", "latex"), ("proto", "proto"),
];

/// Names that say it whole.
const NAMES: &[(&str, &str)] =
    &[("Dockerfile", "dockerfile"), ("Makefile", "makefile"), ("CMakeLists.txt", "cmake")];

/// Returns the language of a file; none for a name that says nothing.
pub(crate) fn of(path: &WorkspacePath) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let whole = NAMES.iter().find(|(known, _)| *known == name);
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let end = || EXTENSIONS.iter().find(|(known, _)| end.as_deref() == Some(*known));
    whole.or_else(end).map(|(_, language)| *language)
}

/// Lists every language there is a rule for.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    EXTENSIONS.iter().chain(NAMES).map(|(_, language)| *language)
}
