// Asks the daemon what its API offers. It is only compiled: it proves that each request can be
// written with the types of its path, its query, its body and its answers.

import type { operations, paths, TaskFrame } from "../../sdk/typescript/mia-api";

type Body<O extends keyof operations> = NonNullable<operations[O]["requestBody"]> extends {
  content: { "application/json": infer B };
}
  ? B
  : never;

/** The prompt, as little of it as there can be. */
export const prompt: Body<"dispatch"> = { prompt: "hi", working_directory: "/" };
export const rename: Body<"rename_conversation"> = { title: null };
/** A body that may be left out may also be null. */
export const stop: Body<"stop"> = null;

/** The path of a task, and what is answered to it. */
export const show: keyof paths = "/v1/tasks/{task}";
type Shown = paths[typeof show]["get"]["responses"];

export function prompted(answer: Shown[200]["content"]["application/json"]): string {
  return answer.summary.prompt;
}

export function refused(answer: Shown[404]["content"]["application/json"]): string {
  return `${answer.code}: ${answer.message}`;
}

export const newest: operations["history"]["parameters"]["query"] = { limit: 5, failed: true };

/** A frame of a stream: its data is JSON of what its name says. */
export function last(frame: TaskFrame): boolean {
  switch (frame.event) {
    case "end":
      return frame.data === "";
    case "problem":
      return true;
    default:
      return frame.id === "";
  }
}

export function mistakes(): void {
  // @ts-expect-error There is no such member.
  const odd: Body<"dispatch"> = { prompt: "hi", working_directory: "/", promt: "hi" };
  // @ts-expect-error There is no such path.
  const nowhere: keyof paths = "/v1/task";
  void odd, nowhere;
}
