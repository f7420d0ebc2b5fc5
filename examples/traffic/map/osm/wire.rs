//! The wire format of protocol buffers, read in place: nothing is copied, so a message takes no
//! memory but its own bytes.

use std::fmt;

/// What is wrong in a message.
#[derive(Debug)]
pub struct Broken(String);

impl Broken {
    pub fn new(problem: impl fmt::Display) -> Self {
        Self(format!("broken or cut short: {problem}"))
    }

    /// Of something whole that is not read.
    pub fn unread(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The content of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Number(u64),
    /// Text, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// Of a fixed width, which no field of a map has.
    Fixed,
}

impl<'a> Value<'a> {
    pub fn bytes(self) -> Result<&'a [u8], Broken> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(Broken::new("a field has a number where bytes belong")),
        }
    }

    /// A number as the types `int32` and `int64` have it.
    pub fn number(self) -> Result<i64, Broken> {
        match self {
            Value::Number(number) => Ok(number.cast_signed()),
            _ => Err(Broken::new("a field has bytes where a number belongs")),
        }
    }
}

/// The fields of a message in their order.
#[derive(Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Bytes that are not read yet.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    fn read(&mut self) -> Result<(u64, Value<'a>), Broken> {
        let key = varint(&mut self.rest)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = varint(&mut self.rest)?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            kind => return Err(Broken::new(format_args!("a field of the unknown kind {kind}"))),
        };
        Ok((key >> 3, value))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Broken> {
        let length = usize::try_from(length).ok().filter(|&length| length <= self.rest.len());
        let (taken, rest) = length.map(|length| self.rest.split_at(length)).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    /// The number of the field and its content. After an error nothing sensible follows.
    type Item = Result<(u64, Value<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.read())
    }
}

/// Numbers packed into one field.
#[derive(Clone)]
pub struct Packed<'a> {
    rest: &'a [u8],
}

impl<'a> Packed<'a> {
    pub fn of(field: &'a [u8]) -> Self {
        Self { rest: field }
    }
}

impl Iterator for Packed<'_> {
    type Item = Result<u64, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| varint(&mut self.rest))
    }
}

/// Numbers of which the field has the first and then the differences.
#[derive(Clone)]
pub struct Deltas<'a> {
    differences: Packed<'a>,
    last: i64,
}

impl<'a> Deltas<'a> {
    pub fn of(field: &'a [u8]) -> Self {
        Self { differences: Packed::of(field), last: 0 }
    }

    fn add(&mut self, difference: u64) -> Result<i64, Broken> {
        self.last = self
            .last
            .checked_add(zigzag(difference))
            .ok_or_else(|| Broken::new("differences add up to more than 64 bits"))?;
        Ok(self.last)
    }
}

impl Iterator for Deltas<'_> {
    type Item = Result<i64, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        let difference = self.differences.next()?;
        Some(difference.and_then(|difference| self.add(difference)))
    }
}

/// A number of the types `sint32` and `sint64`, which take turns between above and below 0.
pub fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Seven bits a byte, the lowest first, until a byte without the highest bit.
fn varint(rest: &mut &[u8]) -> Result<u64, Broken> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or_else(too_short)?;
        *rest = after;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Broken::new("a number of more than ten bytes"))
}

fn too_short() -> Broken {
    Broken::new("a field is longer than what it is in")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8]) -> Result<Vec<u64>, String> {
        Packed::of(bytes).collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        assert_eq!(numbers(&[0, 1, 0x7F, 0x80, 1, 0xAC, 2]), Ok(vec![0, 1, 127, 128, 300]));
        let most = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
        assert_eq!(numbers(&most), Ok(vec![u64::MAX]));
        assert_eq!([0, 1, 2, 3, u64::MAX - 1, u64::MAX].map(zigzag), [0, -1, 1, -2, i64::MAX, i64::MIN]);
    }

    #[test]
    fn numbers_without_an_end_are_broken() {
        let broken = |problem: &str| Err(format!("broken or cut short: {problem}"));
        assert_eq!(numbers(&[0x80]), broken("a field is longer than what it is in"));
        assert_eq!(numbers(&[0xFF; 11]), broken("a number of more than ten bytes"));
    }

    #[test]
    fn sums_do_not_wrap() {
        // The greatest number and 1 more.
        let most = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
        let sums: Vec<_> = Deltas::of(&[&most[..], &[2]].concat()).map(|sum| sum.ok()).collect();
        assert_eq!(sums, [Some(i64::MAX), None]);
    }

    #[test]
    fn fields_stay_within_their_message() {
        let fields = |bytes| Fields::of(bytes).map(|field| field.ok()).collect::<Vec<_>>();
        assert_eq!(fields(&[0x08, 5, 0x12, 1, 9]), [Some((1, Value::Number(5))), Some((2, Value::Bytes(&[9])))]);
        assert_eq!(fields(&[0x12, 2, 9])[0], None, "two bytes promised, one there");
        assert_eq!(fields(&[0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1])[0], None);
        assert_eq!(fields(&[0x0B])[0], None, "groups have long been out of use");
        assert_eq!(fields(&[0x0D, 1, 2, 3, 4]), [Some((1, Value::Fixed))]);
    }
}
