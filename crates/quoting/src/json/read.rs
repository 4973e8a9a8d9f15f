//! Walks the tree and records every mistake.

use crate::problem::{FieldCode, FieldError, Problem};

use super::Json;

/// Most fields of an object: more than any request has. An object with more gets one error for all.
const MAX_MEMBERS: usize = 64;

/// Records mistakes while a request is read.
#[derive(Debug, Default)]
pub struct Reader {
    errors: Vec<FieldError>,
}

/// A value with its place in the request.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// The value; never `null`.
    pub value: &'a Json,
    /// JSON pointer.
    pub pointer: String,
}

/// An object whose keys were checked.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    members: &'a [(String, Json)],
    /// JSON pointer.
    pub pointer: String,
}

impl Reader {
    /// Records a mistake.
    pub fn wrong(&mut self, pointer: &str, code: FieldCode, detail: impl Into<String>) {
        self.errors.push(FieldError::new(pointer, code, detail));
    }

    /// Returns a parsed value, or records a mistake if there is none.
    pub fn accept<T, D: Into<String>>(
        &mut self,
        item: &Item<'_>,
        read: Option<T>,
        code: FieldCode,
        detail: impl FnOnce() -> D,
    ) -> Option<T> {
        if read.is_none() {
            self.wrong(&item.pointer, code, detail());
        }
        read
    }

    /// Returns the parsed request, or the problem with every mistake.
    ///
    /// # Errors
    /// The mistakes; `INTERNAL` if there is neither a value nor a mistake.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problem> {
        match (value, self.errors.is_empty()) {
            (Some(value), true) => Ok(value),
            (None, true) => Err(Problem::internal("a request was refused without a reason")),
            (_, false) => Err(Problem::invalid(self.errors)),
        }
    }

    /// Opens an object. Unknown and duplicate keys are mistakes.
    pub fn object<'a>(&mut self, value: &'a Json, pointer: &str, known: &[&str]) -> Option<Object<'a>> {
        let Json::Map(members) = value else {
            self.wrong(pointer, FieldCode::InvalidType, format!("expected an object, got {}", value.kind()));
            return None;
        };
        if members.len() > MAX_MEMBERS {
            let detail = format!("expected at most {MAX_MEMBERS} fields, got {}", members.len());
            self.wrong(pointer, FieldCode::LengthInvalid, detail);
            return None;
        }
        for (index, (name, _)) in members.iter().enumerate() {
            let at = child(pointer, name);
            if members.iter().take(index).any(|(earlier, _)| earlier == name) {
                self.wrong(&at, FieldCode::DuplicateField, format!("the field {} is named twice", quoted(name)));
            } else if !known.contains(&name.as_str()) {
                self.wrong(&at, FieldCode::UnknownField, format!("there is no field {} here", quoted(name)));
            }
        }
        Some(Object { members, pointer: pointer.to_owned() })
    }

    /// Reads a required field.
    pub fn required<'a>(&mut self, object: &Object<'a>, name: &str) -> Option<Item<'a>> {
        let found = object.get(name);
        if found.is_none() {
            self.wrong(&child(&object.pointer, name), FieldCode::Required, format!("{name} is required"));
        }
        found
    }

    /// Reads the entries of an array whose length is within bounds. Entries that are `null` are mistakes.
    pub fn list<'a>(&mut self, item: &Item<'a>, min: usize, max: usize) -> Option<Vec<Item<'a>>> {
        let Json::List(entries) = item.value else {
            self.mistyped(item, "an array");
            return None;
        };
        if entries.len() < min || entries.len() > max {
            let detail = format!("expected {min} to {max} entries, got {}", entries.len());
            self.wrong(&item.pointer, FieldCode::LengthInvalid, detail);
        }
        // skip the entries past the bound, to keep the answer small
        let items = entries.iter().take(max).enumerate();
        let items = items.map(|(index, value)| Item { value, pointer: format!("{}/{index}", item.pointer) });
        Some(items.collect())
    }

    /// Reads a string.
    pub fn text<'a>(&mut self, item: &Item<'a>) -> Option<&'a str> {
        if let Json::Text(text) = item.value {
            return Some(text);
        }
        self.mistyped(item, "a string");
        None
    }

    /// Reads `true` or `false`.
    pub fn flag(&mut self, item: &Item<'_>) -> Option<bool> {
        if let Json::Bool(flag) = item.value {
            return Some(*flag);
        }
        self.mistyped(item, "a boolean");
        None
    }

    /// Reads a whole number within bounds.
    pub fn integer<T: TryFrom<i128>>(&mut self, item: &Item<'_>, min: i128, max: i128) -> Option<T> {
        let number = match item.value {
            Json::Integer(number) => number,
            Json::Huge(number) => {
                self.wrong(&item.pointer, FieldCode::OutOfRange, format!("expected {min} to {max}, got {number:e}"));
                return None;
            }
            _ => {
                self.mistyped(item, "an integer");
                return None;
            }
        };
        if *number < min || *number > max {
            let detail = format!("expected {min} to {max}, got {number}");
            self.wrong(&item.pointer, FieldCode::OutOfRange, detail);
            return None;
        }
        T::try_from(*number).ok()
    }

    /// Records that a value has the wrong type.
    pub fn mistyped(&mut self, item: &Item<'_>, expected: &str) {
        let detail = format!("expected {expected}, got {}", item.value.kind());
        self.wrong(&item.pointer, FieldCode::InvalidType, detail);
    }
}

impl<'a> Object<'a> {
    /// Returns a field, unless it is absent or `null`.
    pub fn get(&self, name: &str) -> Option<Item<'a>> {
        let (_, value) = self.members.iter().find(|(key, _)| key == name)?;
        (*value != Json::Null).then(|| Item { value, pointer: child(&self.pointer, name) })
    }
}

/// Returns the pointer of a member, escaped as in RFC 6901. Cuts names after 64 characters.
pub(crate) fn child(pointer: &str, name: &str) -> String {
    let name: String = name.chars().take(64).collect();
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Quotes a client's text for a message: escaped, and cut after 64 characters.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(64).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{dots}")
}
