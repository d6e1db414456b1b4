//! The commands in the blocks of a document and in the examples of a help, with the output shown below them.

/// Blanks in a row that end a command in a help; the text after them describes it.
const GAP: &str = "  ";

/// A command and the lines shown below it, which may be none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) command: String,
    /// The description behind the command, which may name its exit code.
    pub(crate) comment: String,
    pub(crate) shown: Vec<String>,
}

/// The commands of one block, which are played in one folder, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The document, or the command whose help it is.
    pub(crate) source: String,
    pub(crate) examples: Vec<Example>,
}

impl Example {
    fn of(line: &str) -> Self {
        let (command, comment) = line.split_once(" # ").unwrap_or((line, ""));
        Self { command: command.trim_end().to_owned(), comment: comment.to_owned(), shown: vec![] }
    }

    /// Returns the exit code that the comment names, and 0 without one.
    pub(crate) fn exit_code(&self) -> i32 {
        let named = self.comment.strip_prefix("exit ").unwrap_or("0");
        let digits = named.split(|letter: char| !letter.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).expect("a number follows")
    }
}

/// Returns the blocks of a document that hold commands: `sh`, a command a line, and `console`, commands
/// behind `$` with their output.
pub(crate) fn of_document(source: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut kind: Option<&str> = None;
    for line in text.lines() {
        if let Some(opened) = line.trim_start().strip_prefix("```") {
            if matches!(opened, "sh" | "console") {
                blocks.push(Block { source: source.to_owned(), examples: Vec::new() });
            }
            kind = kind.is_none().then_some(opened);
        } else if let (Some(kind @ ("sh" | "console")), Some(block)) = (kind, blocks.last_mut()) {
            add(block, kind, line);
        }
    }
    for example in blocks.iter_mut().flat_map(|block| &mut block.examples) {
        while example.shown.last().is_some_and(String::is_empty) {
            example.shown.pop();
        }
    }
    blocks
}

fn add(block: &mut Block, kind: &str, line: &str) {
    match (kind, line.strip_prefix("$ ")) {
        ("console", Some(command)) => block.examples.push(Example::of(command)),
        ("console", None) => {
            let example = block.examples.last_mut().expect("output comes after a command");
            example.shown.push(line.to_owned());
        }
        _ => block.examples.push(Example::of(line)),
    }
}

/// Returns the examples of a help: indented lines that begin with `stagger`. The comment stands behind
/// the command, or alone on the next line.
pub(crate) fn of_help(command: &str, text: &str) -> Block {
    let mut examples: Vec<Example> = Vec::new();
    for line in text.lines().skip_while(|line| *line != "Examples:") {
        if let Some(typed) = line.strip_prefix("  stagger ") {
            let (command, comment) = typed.split_once(GAP).unwrap_or((typed, ""));
            let (command, comment) = (format!("stagger {command}"), comment.trim().to_owned());
            examples.push(Example { command, comment, shown: vec![] });
        } else if let (Some(last), true) = (examples.last_mut(), line.starts_with("      ")) {
            line.trim().clone_into(&mut last.comment);
        }
    }
    Block { source: format!("stagger {command} --help"), examples }
}

#[test]
fn only_commands_of_shell_blocks_are_played() {
    let text = "\
stagger no
```sh
stagger a  # exit 1: too slow
FOLDER=. cargo b | wc
```
```text
$ stagger no
```
```console
$ stagger c
one

two

$ stagger d
```
";
    let blocks = of_document("a.md", text);
    let commands = |block: &Block| {
        let of = |example: &Example| (example.command.clone(), example.shown.join("/"));
        block.examples.iter().map(of).collect::<Vec<_>>()
    };
    let pair = |command: &str, shown: &str| (command.to_owned(), shown.to_owned());
    assert_eq!(blocks.len(), 2);
    assert_eq!(commands(&blocks[0]), [pair("stagger a", ""), pair("FOLDER=. cargo b | wc", "")]);
    assert_eq!(commands(&blocks[1]), [pair("stagger c", "one//two"), pair("stagger d", "")]);
    assert_eq!(blocks[0].examples.iter().map(Example::exit_code).collect::<Vec<_>>(), [1, 0]);
    let help = "Usage:\n  stagger [x]\n\nExamples:\n  stagger e -- f  runs f\n  stagger g\n        exit 1\n";
    let help = of_help("e", help);
    assert_eq!(commands(&help), [pair("stagger e -- f", ""), pair("stagger g", "")]);
    assert_eq!(help.examples.iter().map(Example::exit_code).collect::<Vec<_>>(), [0, 1]);
}
