//! The TDM Reservation Protocol (W3C Community Group): rights of text and data mining.

use super::http_url::http_url;

/// The rights that one source states: a page, its headers, or the file of a site.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TdmRights {
    reservation: Option<bool>,
    policy: Option<Box<str>>,
}

impl TdmRights {
    /// Sets `tdm-reservation`: `1` reserves the rights, `0` does not. Other values, and a second one, are
    /// ignored.
    pub fn set_reservation(&mut self, value: &str) {
        let value = match value.trim_ascii() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        self.reservation = self.reservation.or(value);
    }

    /// Sets `tdm-policy`, a URL, which is resolved against `base`, or absolute if there is none. A second
    /// one is ignored.
    pub fn set_policy(&mut self, url: &str, base: Option<&url::Url>) {
        if self.policy.is_none() {
            self.policy = http_url(url, base);
        }
    }

    /// Returns true if the rights are reserved, `None` if nothing is stated.
    pub const fn reservation(&self) -> Option<bool> {
        self.reservation
    }

    /// Returns the URL of the policy; `None` without a reservation, which it is about.
    pub fn policy(&self) -> Option<&str> {
        self.policy.as_deref().filter(|_| self.reservation == Some(true))
    }

    /// Returns these rights, or those of a source of less precedence if these state nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.reservation.is_some() { self } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(reservation: &str, policy: &str) -> TdmRights {
        let mut rights = TdmRights::default();
        rights.set_reservation(reservation);
        rights.set_policy(policy, None);
        rights
    }

    #[test]
    fn values() {
        let policy = "https://a.test/p.json";
        for (reservation, wanted, has_policy) in [
            ("1", Some(true), true),
            (" 1 ", Some(true), true),
            ("0", Some(false), false),
            ("2", None, false),
            ("true", None, false),
            ("", None, false),
        ] {
            let rights = rights(reservation, policy);
            assert_eq!(rights.reservation(), wanted, "{reservation}");
            assert_eq!(rights.policy().is_some(), has_policy, "{reservation}");
        }
        assert_eq!(rights("1", "policy.json").policy(), None);
    }

    #[test]
    fn a_source_that_states_nothing_yields_to_the_next() {
        let (meta, header) = (rights("", "https://a.test/1"), rights("1", "https://a.test/2"));
        assert_eq!(meta.or(header).policy(), Some("https://a.test/2"));
        let (meta, header) = (rights("0", ""), rights("1", "https://a.test/2"));
        assert_eq!(meta.or(header).reservation(), Some(false));
    }
}
