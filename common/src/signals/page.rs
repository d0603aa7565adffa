//! All signals of a response, and their fields in archives.

use super::content_signal::ContentSignal;
use super::content_usage::ContentUsage;
use super::directives::RobotsDirectives;
use super::licenses::Licenses;
use super::tdm::TdmRights;

/// Name and value of a field of an archive.
pub type SignalField = (&'static str, String);

/// The signals that hold for one response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageSignals {
    /// Robots directives of the page and its headers.
    pub robots: RobotsDirectives,
    /// `Content-Usage` (IETF AIPREF).
    pub usage: ContentUsage,
    /// `Content-Signal` (Cloudflare).
    pub content: ContentSignal,
    /// Rights of text and data mining (TDMRep).
    pub tdm: TdmRights,
    /// URLs of licenses (RSL).
    pub licenses: Licenses,
}

impl PageSignals {
    /// Names of all fields of [`Self::fields`].
    pub const NAMES: [&'static str; 9] = [
        "robots",
        "usageTrainAi",
        "usageSearch",
        "signalSearch",
        "signalAiInput",
        "signalAiTrain",
        "tdmReservation",
        "tdmPolicy",
        "license",
    ];

    /// Returns the fields of the archive that record them, in a fixed order. Unknown values have none.
    #[must_use]
    pub fn fields(&self) -> Vec<SignalField> {
        let mut fields = Vec::new();
        if *self == Self::default() {
            return fields;
        }
        if !self.robots.is_empty() {
            fields.push(("robots", self.robots.to_string()));
        }
        let (usage, content) = (&self.usage, &self.content);
        for (name, value, [yes, no]) in [
            ("usageTrainAi", usage.train_ai, ["allow", "disallow"]),
            ("usageSearch", usage.search, ["allow", "disallow"]),
            ("signalSearch", content.search, ["yes", "no"]),
            ("signalAiInput", content.ai_input, ["yes", "no"]),
            ("signalAiTrain", content.ai_train, ["yes", "no"]),
            ("tdmReservation", self.tdm.reservation(), ["1", "0"]),
        ] {
            if let Some(value) = value {
                fields.push((name, if value { yes } else { no }.to_owned()));
            }
        }
        if let Some(policy) = self.tdm.policy() {
            fields.push(("tdmPolicy", policy.to_owned()));
        }
        fields.extend(self.licenses.iter().map(|url| ("license", url.to_owned())));
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_signals_has_no_fields() {
        assert_eq!(PageSignals::default().fields(), []);
    }

    #[test]
    fn each_signal_has_its_field() {
        let mut signals = PageSignals {
            usage: ContentUsage { train_ai: Some(false), search: Some(true) },
            content: ContentSignal {
                search: Some(true),
                ai_input: Some(false),
                ai_train: Some(false),
            },
            ..PageSignals::default()
        };
        signals.robots.add_list("noarchive, max-snippet:20");
        signals.tdm.set_reservation("1");
        signals.tdm.set_policy("https://a.test/policy.json", None);
        signals.licenses.add("https://a.test/license.xml", None);
        signals.licenses.add("https://a.test/other.xml", None);
        let fields = signals.fields();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(
            fields,
            [
                ("robots", "noarchive, max-snippet:20"),
                ("usageTrainAi", "disallow"),
                ("usageSearch", "allow"),
                ("signalSearch", "yes"),
                ("signalAiInput", "no"),
                ("signalAiTrain", "no"),
                ("tdmReservation", "1"),
                ("tdmPolicy", "https://a.test/policy.json"),
                ("license", "https://a.test/license.xml"),
                ("license", "https://a.test/other.xml"),
            ]
        );
        let mut names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
        names.dedup();
        assert_eq!(names, PageSignals::NAMES);
    }
}
