// The story of the file in sentences with numbers, each with a link to the place.
import type { Overview, Sentence } from "../../api/contract";
import { hrefOf } from "../../state/links";
import { device, overview, page } from "../../state/store";
import { Icon } from "../../ui/icons";
import { ErrorNotice } from "../../ui/notice";
import { Parts } from "../../ui/text";
import { integer, seconds } from "../../ui/units";
import { viewNamed } from "../registry";

function Eyebrow({ of }: { of: Overview["eyebrow"] }) {
  const start = device.value?.first_time_us ?? null;
  const facts = [
    of.step === null ? "" : `step ${integer(of.step)}`,
    of.time_us === null || start === null ? "" : seconds(of.time_us - start),
    device.value?.label ?? "",
  ].filter((fact) => fact !== "");
  return (
    <div class={`eyebrow${of.kind === "oom" ? "" : " calm"}`}>
      <Icon name={of.kind === "oom" ? "alert" : "overview"} />
      {of.text}
      <span class="faint">{facts.join(" · ")}</span>
    </div>
  );
}

function Story({ sentences }: { sentences: readonly Sentence[] }) {
  return (
    <ol class="story">
      {sentences.map((sentence) => (
        <li key={sentence.parts.map((part) => part.text).join("")}>
          <span>
            <Parts parts={sentence.parts} />
          </span>
          {sentence.link && viewNamed(sentence.link.view) && (
            <a class="go" href={hrefOf(sentence.link, page.value)}>
              {sentence.link.label}
            </a>
          )}
        </li>
      ))}
    </ol>
  );
}

export function OverviewView() {
  const { data, error } = overview.value;
  if (error) {
    return (
      <div class="center">
        <ErrorNotice error={error} />
      </div>
    );
  }
  return (
    <section class="view on" aria-label="Overview">
      <div class="body">
        <div class="ov">
          {data && (
            <div class="ov-top">
              <div>
                <Eyebrow of={data.eyebrow} />
                <h1 class="headline">{data.headline}</h1>
                <Story sentences={data.story} />
              </div>
            </div>
          )}
        </div>
      </div>
    </section>
  );
}
