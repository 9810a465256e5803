//! Rows in columns.

use unicode_width::UnicodeWidthStr;

/// Lines with their cells aligned; the last column is not padded.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            let pad = width.saturating_sub(cell.width()) + 2;
            line.extend(std::iter::repeat_n(' ', pad));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn cells_are_aligned_by_their_width_on_the_screen() {
        let row = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect();
        let text = aligned(&[row(&["漢字", "x", "end"]), row(&["abc", "long", ""])]);
        assert_eq!(text, "漢字  x     end\nabc   long\n");
    }
}
