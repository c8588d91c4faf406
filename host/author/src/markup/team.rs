//! A team as a drawing: a disc for each role, with as many rings as it has seats more.

use std::fmt::Write;

use plugin_sdk::printing::visible;
use troupe_guests::plugin::Role;
use troupe_page::escaped_text;

/// Roles that are drawn; rings of one; letters of a name.
const ROLES: usize = 5;
const RINGS: u32 = 3;
const LETTERS: usize = 14;
/// Between the middles of two discs, and the height of the drawing.
const STEP: usize = 104;
const HEIGHT: usize = 110;
/// An image does not know the page's style: these can be read on light and on dark.
const COLORS: [&str; ROLES] = ["#3f83d6", "#d0713a", "#3f9a5e", "#9560c8", "#c2507e"];
const INK: &str = "#7d8793";

/// The drawing.
pub fn drawing(roles: &[Role]) -> String {
    let drawn = &roles[..roles.len().min(ROLES)];
    let width = STEP * drawn.len().max(2);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" text-anchor=\"middle\">"
    );
    let start = (width - STEP * (drawn.len().max(1) - 1)) / 2;
    for (index, role) in drawn.iter().enumerate() {
        let (x, color) = (start + STEP * index, COLORS[index]);
        // Writing to a string cannot fail.
        if index > 0 {
            let _ = write!(
                svg,
                "<path d=\"M{} 46h{}\" stroke=\"{INK}\" stroke-width=\"2\"/>",
                x + 30 - STEP,
                STEP - 60
            );
        }
        for ring in 1..role.seats.min(RINGS + 1) {
            let r = 22 + 4 * ring;
            let _ = write!(
                svg,
                "<circle cx=\"{x}\" cy=\"46\" r=\"{r}\" fill=\"none\" stroke=\"{color}\"/>"
            );
        }
        let name: String = visible(&role.name).chars().take(LETTERS).collect();
        let _ = write!(
            svg,
            "<circle cx=\"{x}\" cy=\"46\" r=\"22\" fill=\"{color}\"/>\
             <text x=\"{x}\" y=\"98\" fill=\"{INK}\">{}</text>",
            escaped_text(&name)
        );
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_has_a_disc_for_each_role_and_as_many_rings_as_seats_more_within_bounds() {
        let role =
            |name: &str, seats| Role { name: name.to_owned(), summary: String::new(), seats };
        let count = |roles: &[Role]| drawing(roles).matches("<circle").count();
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[role("solver", 1)]), 1);
        assert_eq!(count(&[role("solver", 3), role("verifier", 1)]), 4);
        assert_eq!(count(&[role("crowd", 64)]), 4);
        let many: Vec<Role> = (0..64).map(|index| role(&format!("r{index}"), 1)).collect();
        assert_eq!(count(&many), ROLES);
        assert!(drawing(&[role("<b>&", 1)]).contains(">&lt;b&gt;&amp;<"));
    }
}
