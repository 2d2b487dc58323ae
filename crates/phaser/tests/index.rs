//! The index: made from declarations, written, read strictly.

use whetstone_core::stack::on_big_stack;
use whetstone_phaser::check::check;
use whetstone_phaser::index::{Index, IndexError, Kind, MemberKind, VERSIONS};

const DECLARATIONS: &str = "
declare type EachCallback<E> = (entry: E, index: number)=>boolean | null;
declare namespace Phaser {
    /** Documentation that is not kept. */
    const VERSION: string;
    enum Modes { ADD, MULTIPLY = 2 }
    class Scene {
        constructor(config?: string);
        add: Phaser.Factory;
        body: Phaser.Body | MatterJS.BodyType | null;
        update(time: number, delta: number): void;
    }
    class Body { stop(): this; }
    class Factory {
        image(x: number, y: number, texture: string | number, frame?: string): Phaser.Things.Image;
        group(): Phaser.Things.Bag<Phaser.Things.Image>;
        existing<G extends Phaser.Scene>(child: G, later?: number): G;
        many(...all: any[]): void;
        many(first: string): void;
    }
    namespace Things {
        function Pick(list: any[], how?: (thing: Phaser.Things.Image, at: number)=>void): Phaser.Things.Image;
        interface Alpha { alpha: number; setAlpha(value?: number): this; }
        class Image implements Phaser.Things.Alpha { static count: number; alpha: number; setAlpha(value?: number): this; }
        class Bag<T> { each(callback: EachCallback<T>, context?: any): Phaser.Things.Bag<T>; all: T[]; }
        type Settings = { x?: number; onEnd?: (image: Phaser.Things.Image)=>void };
    }
    class Game { constructor(settings: Phaser.Things.Settings); }
}
declare module 'phaser' { export = Phaser; }
";

fn made() -> Index {
    on_big_stack(|stack| Index::from_declarations(DECLARATIONS, "9.1.0", stack))
        .expect("a thread starts")
        .expect("the declarations parse")
}

fn refusal(text: &str) -> String {
    match Index::read(text.as_bytes()) {
        Ok(_) => panic!("{text} is read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn declarations_become_rows() {
    let text = made().write();
    let expected = r#"{"path":"EachCallback","kind":"typedef","t":"($0,?)"}
{"path":"Phaser","kind":"namespace"}
{"path":"Phaser.Body","kind":"class","members":{"stop":{"k":"m","t":"this","max":0}}}
{"path":"Phaser.Factory","kind":"class","members":{"existing":{"k":"m","t":"@0","min":1,"max":2},"group":{"k":"m","t":"Phaser.Things.Bag<Phaser.Things.Image>","max":0},"image":{"k":"m","t":"Phaser.Things.Image","min":3,"max":4},"many":{"k":"m"}}}
{"path":"Phaser.Game","kind":"class","members":{"constructor":{"k":"m","min":1,"max":1,"cb":{"0":"Phaser.Things.Settings"}}}}
{"path":"Phaser.Modes","kind":"enum","members":{"ADD":{"k":"p","st":true},"MULTIPLY":{"k":"p","st":true}}}
{"path":"Phaser.Scene","kind":"class","members":{"add":{"k":"p","t":"Phaser.Factory"},"body":{"k":"p","t":"Phaser.Body"},"constructor":{"k":"m","max":1},"update":{"k":"m","min":2,"max":2}}}
{"path":"Phaser.Things","kind":"namespace"}
{"path":"Phaser.Things.Alpha","kind":"interface","members":{"alpha":{"k":"p"},"setAlpha":{"k":"m","t":"this","max":1}}}
{"path":"Phaser.Things.Bag","kind":"class","members":{"all":{"k":"p","t":"$0[]"},"each":{"k":"m","t":"Phaser.Things.Bag<$0>","min":1,"max":2,"cb":{"0":"EachCallback<$0>"}}}}
{"path":"Phaser.Things.Image","kind":"class","ext":["Phaser.Things.Alpha"],"members":{"alpha":{"k":"p"},"count":{"k":"p","st":true},"setAlpha":{"k":"m","t":"this","max":1}}}
{"path":"Phaser.Things.Pick","kind":"function","t":"Phaser.Things.Image","min":1,"max":2,"cb":{"1":"(Phaser.Things.Image,?)"}}
{"path":"Phaser.Things.Settings","kind":"typedef","members":{"onEnd":{"k":"p","t":"(Phaser.Things.Image)"},"x":{"k":"p"}},"open":true}
{"path":"Phaser.VERSION","kind":"const"}
"#;
    let (header, rows) = text.split_once('\n').unwrap();
    assert_eq!(rows, expected);
    assert!(header.starts_with(r#"{"format":1,"phaser":"9.1.0","sha256":""#), "{header}");
    assert!(header.ends_with(r#"","rows":14}"#), "{header}");
}

#[test]
fn an_index_reads_back_and_writes_the_same_bytes() {
    let index = made();
    let again = Index::read(index.write().as_bytes()).unwrap();
    assert_eq!((again.write(), again.digest()), (index.write(), index.digest()));
    assert_eq!(made().write(), index.write());
    assert_eq!(again.version(), "9.1.0");
}

#[test]
fn a_program_is_checked_against_an_index_of_ones_own() {
    let source = "class A extends Phaser.Scene { create() {
        this.add.image(1, 2, 'a').setAlpha(1).hop();
        this.add.group().each((image) => image.skip());
        this.add.group().all[0].jump();
        Phaser.Things.Pick([], (image) => image.run());
        new Phaser.Game({ onEnd: (image) => image.fall() });
        this.add.existing(this).walk();
        use(Phaser.Modes.ADD, Phaser.Modes.SUB, Phaser.Things.Image.count);
        this.add.many(); this.add.image(1);
    } }";
    let index = made();
    let found = on_big_stack(|stack| check(source, &index, stack)).unwrap().api;
    let names: Vec<&str> = found.unknown.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(
        names,
        [
            "Phaser.Things.Image.hop",
            "Phaser.Things.Image.skip",
            "Phaser.Things.Image.jump",
            "Phaser.Things.Image.run",
            "Phaser.Things.Image.fall",
            "Phaser.Scene.walk",
            "Phaser.Modes.SUB"
        ]
    );
    assert_eq!(found.few_args.len(), 1);
}

#[test]
fn embedded_indexes_are_of_their_version_and_complete() {
    for version in VERSIONS {
        let index = Index::embedded(version).unwrap();
        assert_eq!(index.version(), version);
        assert!(index.rows().len() > 1900, "{}", index.rows().len());
        assert_eq!(index.header().sha256.len(), 64);
        let classes = index.rows().iter().filter(|row| row.kind == Kind::Class).count();
        assert!(classes > 280, "{classes}");
        let scene = index.rows().iter().find(|row| row.path == "Phaser.Scene").unwrap();
        assert_eq!(scene.members["update"].k, MemberKind::Method);
        assert_eq!(scene.members["add"].t.as_deref(), Some("Phaser.GameObjects.GameObjectFactory"));
        assert_eq!(Index::read(index.write().as_bytes()).unwrap().digest(), index.digest());
    }
    assert_eq!(Index::embedded("3").unwrap().version(), "3.90.0");
    assert_eq!(Index::embedded("4").unwrap().version(), "4.2.1");
    assert!(Index::embedded("2").is_none());
}

#[test]
fn an_index_of_another_version_is_refused() {
    let error = made().expect_version("3.90.0").unwrap_err().to_string();
    assert!(error.contains("describes Phaser 9.1.0, and 3.90.0 is asked for"), "{error}");
    made().expect_version("9.1.0").unwrap();
}

#[test]
fn a_file_that_is_no_index_is_refused_with_a_sentence() {
    let text = made().write();
    let (header, rows) = text.split_once('\n').unwrap();
    let first = rows.lines().next().unwrap();
    for (bad, said) in [
        (String::new(), "the index is empty"),
        ("{}\n".to_owned(), "no header"),
        (text.replacen("\"format\":1", "\"format\":2", 1), "has format 2"),
        (text.replacen("\"format\":1", "\"format\":1,\"more\":1", 1), "no header"),
        (text.replacen("{\"path\"", "{\"extra\":1,\"path\"", 1), "line 2 of the index is no row"),
        (
            text.replacen("{\"k\":\"m\"", "{\"k\":\"m\",\"doc\":\"x\"", 1),
            "line 4 of the index is no row",
        ),
        (
            text.replacen("\"kind\":\"typedef\"", "\"kind\":\"type\"", 1),
            "line 2 of the index is no row",
        ),
        (format!("{header}\n{first}\n{first}\n"), "line 3 of the index repeats"),
        (format!("{header}\n{first}\n"), "has 1 rows, and its header says 14"),
        (
            text.replacen("EachCallback\"", &format!("{}\"", "E".repeat(3000)), 1),
            "line 2 of the index has a path or a type",
        ),
        ("\u{1f}".to_owned(), "no header"),
    ] {
        let error = refusal(&bad);
        assert!(error.contains(said), "{error}");
    }
    assert!(matches!(Index::read(&[0x1f, 0x8b, 1, 2]), Err(IndexError::Compressed(_))));
    assert!(matches!(Index::read(&vec![b' '; (32 << 20) + 1]), Err(IndexError::TooLarge(_))));
}

#[test]
fn declarations_that_are_none_are_refused_with_a_sentence() {
    let refused = |text: &str| {
        let made = on_big_stack(|stack| Index::from_declarations(text, "1", stack)).unwrap();
        made.map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused("declare class A {}").contains("no namespace `Phaser`"));
    assert!(refused("\n\ndeclare namespace {").contains("line 3 of the declarations"));
    assert!(refused(&" ".repeat((32 << 20) + 1)).contains("33554433 bytes"));
}

#[test]
fn types_that_do_not_parse_say_nothing() {
    let header = r#"{"format":1,"phaser":"1","sha256":"0","rows":2}"#;
    for ty in [
        "(((((((((((((((((((((((((",
        "Phaser.Scene<",
        "|",
        "@999",
        "$x",
        "Phaser.Scene Phaser.Scene",
        "{Phaser.Scene",
        "Nowhere",
    ] {
        let text = format!(
            "{header}\n{{\"path\":\"Phaser\",\"kind\":\"namespace\"}}\n{{\"path\":\"Phaser.Scene\",\"kind\":\"class\",\"members\":{{\"a\":{{\"k\":\"p\",\"t\":\"{ty}\"}}}}}}\n"
        );
        let index = Index::read(text.as_bytes()).unwrap();
        let source = "class A extends Phaser.Scene { create() { this.a.hop(); this.b(); } }";
        let found = on_big_stack(|stack| check(source, &index, stack)).unwrap().api;
        assert_eq!(found.unknown.len(), 1, "{ty}");
        assert_eq!(found.unknown[0].what, "Phaser.Scene.b");
    }
}

#[test]
fn declarations_of_a_known_release_are_corrected() {
    let text = "declare namespace Phaser { namespace GameObjects {
        class GameObject { }
        class Group { create(x: number): any; clear(): any; }
        class GameObjectFactory { text(x: number, y: number, text: string): any; star(x: number): any; }
    } namespace Display { class Color { } } namespace Scale { } }";
    let rows = |version: &str| {
        let made = on_big_stack(|stack| Index::from_declarations(text, version, stack)).unwrap();
        made.unwrap().rows().to_vec()
    };
    let released = rows("3.90.0");
    let of = |path: &str| &released.iter().find(|row| row.path == path).unwrap().members;
    let group = of("Phaser.GameObjects.Group");
    assert_eq!(group["create"].t.as_deref(), Some("Phaser.GameObjects.GameObject"));
    assert_eq!(group["clear"].t, None);
    let factory = of("Phaser.GameObjects.GameObjectFactory");
    assert_eq!((factory["text"].min, factory["star"].min), (0, 1));
    assert!(!of("Phaser.Display.Color")["r"].st);
    assert!(of("Phaser.Scale")["LANDSCAPE_SECONDARY"].st);
    assert!(rows("9.0.0").iter().all(|row| row.path != "Phaser.Scale" || row.members.is_empty()));
}
