// Reads what `mia ask --json` prints, and does something with every kind of event. It is only
// compiled: it proves that the types tell the kinds apart, and that none is forgotten.

import type { Event, PluginError, ToolContent } from "../../sdk/typescript/mia-api";

/** An event that this program does not know at all would be of a type that can't be. */
function unheardOf(nothing: never): never {
  throw new Error(`unheard of: ${JSON.stringify(nothing)}`);
}

function shown(content: ToolContent): string {
  switch (content.type) {
    case "text":
      return content.text;
    case "diff":
      return `${content.path}: ${content.old_text ?? ""} -> ${content.new_text}`;
    case "terminal":
      return content.terminal_id;
    case "other":
      return JSON.stringify(content.raw);
    default:
      return unheardOf(content);
  }
}

function why(error: PluginError): string {
  // Always there and perhaps null; a member that may be absent is `undefined` and never null.
  const detail: string | null = error.detail;
  const attempts: number | undefined = error.attempts?.length;
  return `${error.code} ${error.message} ${detail ?? ""} ${attempts ?? 0}`;
}

export function line(event: Event): string {
  const place: string = `${event.task_id}/${event.seq}/${event.offset ?? 0}`;
  switch (event.type) {
    case "accepted":
      return `${place} ${event.conversation_id} ${event.queue_place}`;
    case "attempt":
      return `${event.plugin} ${event.index}`;
    case "token":
    case "thought":
      return event.text;
    case "tool_call":
      return `${event.title} ${event.kind} ${event.locations.map((l) => l.path).join()}`;
    case "tool_update":
      return event.content.map(shown).join();
    case "tool_result":
      return event.is_error ? "failed" : event.output;
    case "plan":
      return event.entries.map((entry) => entry.content).join();
    case "usage":
      return `${event.tokens?.input_tokens ?? "?"} ${event.context?.used ?? "?"} ${event.cost_usd ?? "?"}`;
    case "permission":
      return event.options.find((option) => option.kind === "reject_once")?.id ?? event.title;
    case "permission_resolved":
      return `${event.option_id ?? "none"} ${event.by}`;
    case "notice":
      return `${event.kind}: ${event.message}`;
    case "other":
      return JSON.stringify(event.raw);
    case "complete":
      return event.result.content;
    case "error":
      return why(event.error);
    default:
      return unheardOf(event);
  }
}

// A kind has its own members alone.
export function mistakes(event: Event): void {
  if (event.type === "token") {
    // @ts-expect-error A token has no result.
    event.result;
  }
  // @ts-expect-error There is no such kind.
  if (event.type === "zzz") return;
  if (event.type === "permission_resolved") {
    // @ts-expect-error What may be absent is never null.
    const never: null = event.option_id;
    void never;
  }
}

export function* lines(output: string): Generator<string> {
  for (const text of output.split("\n")) {
    if (text !== "") yield line(JSON.parse(text) as Event);
  }
}
