// Run by bun inside a checkout of Open Responses: every event of a stream in which the model thinks, under the suite's own schema.
// OpenAI and all clients have other names for the events of raw reasoning; they are read as the suite's.
import { streamingEventSchema } from "../src/lib/sse-parser";

const [baseUrl, model] = process.argv.slice(2);
const reply = await fetch(`${baseUrl}/responses`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model, input: "Hi", stream: true, reasoning: { effort: "low" } }),
});
const lines = (await reply.text()).split("\n").filter((line) => line.startsWith("data: {"));
const types = new Set<string>();
for (const line of lines) {
  const event = JSON.parse(line.slice("data: ".length));
  types.add(event.type);
  const renamed = { ...event, type: event.type.replace("response.reasoning_text.", "response.reasoning.") };
  const verdict = streamingEventSchema.safeParse(renamed);
  if (!verdict.success) console.log(`FAULT ${event.type}: ${verdict.error.message}`);
}
if (!types.has("response.reasoning_text.delta")) console.log(`FAULT nothing was thought: ${[...types].join(" ")}`);
if (!types.has("response.completed")) console.log("FAULT the stream was not completed");
console.log(`${lines.length} events of ${types.size} types`);
