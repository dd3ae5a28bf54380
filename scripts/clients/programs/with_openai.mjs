// OpenAI's SDK for Node: Responses forced, streamed, parsed, kept, in the background; Chat's runTools; errors by class.
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const [DEMO, PLAYER] = process.argv.slice(2);
const QUESTION = "What is the weather in Paris?";
const SCENE = `${QUESTION} [scene: weather]`;
const PERSON = "Bob is 31 years old.";
const RESULT = "Sunny, 21 degrees.";
const demo = new OpenAI({ baseURL: `${DEMO}/v1`, apiKey: "unused", maxRetries: 0 });
const player = new OpenAI({ baseURL: `${PLAYER}/v1`, apiKey: "unused", maxRetries: 0 });
const model = "default";
const ok = (name, good) => {
  if (!good) throw new Error(name);
  console.log(`ok ${name}`);
};
const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const about = { name: "get_weather", description: "Tell the weather.", parameters, strict: true };
const tools = [{ type: "function", ...about }];
const resultsOf = (response) =>
  response.output
    .filter((item) => item.type === "function_call" && "city" in JSON.parse(item.arguments))
    .map((call) => ({ type: "function_call_output", call_id: call.call_id, output: RESULT }));

const asked = { model, tools, temperature: 0, max_output_tokens: 150, parallel_tool_calls: false };
for (const tool_choice of [{ type: "function", name: about.name }, "required"]) {
  const forced = { ...asked, input: QUESTION, tool_choice };
  const streamed = await demo.responses.stream(forced).finalResponse();
  for (const first of [await demo.responses.create(forced), streamed]) {
    const input = resultsOf(first);
    const answer = await demo.responses.create({ ...asked, input, previous_response_id: first.id });
    const name = tool_choice === "required" ? tool_choice : "by name";
    ok(`${name} ${first === streamed ? "streamed" : "whole"}`, input.length && answer.output_text);
  }
}

const Person = z.object({ name: z.string(), age: z.number() });
const text = { format: zodTextFormat(Person, "person") };
const parsed = await demo.responses.parse({ model, input: PERSON, text });
ok("parse", Person.parse(parsed.output_parsed));
ok("retrieve", (await demo.responses.retrieve(parsed.id)).output_text === parsed.output_text);
await demo.responses.delete(parsed.id);
ok("delete", (await demo.responses.retrieve(parsed.id).catch((error) => error)) instanceof OpenAI.NotFoundError);
const counted = await demo.responses.inputTokens.count({ model, input: PERSON });
ok("inputTokens", counted.input_tokens > 0);

const events = [];
const begun = { model, input: QUESTION, max_output_tokens: 60, background: true, stream: true };
for await (const event of await demo.responses.create(begun)) if (events.push(event) === 6) break;
const starting_after = events.at(-1).sequence_number;
const rest = await demo.responses.retrieve(events[0].response.id, { stream: true, starting_after });
for await (const event of rest) events.push(event);
ok("background, resumed", events.every((event, index) => event.sequence_number === index));

const kinds = new Set();
const stream = player.responses.stream({ model, tools, input: SCENE, reasoning: { summary: "auto" } });
for await (const event of stream) kinds.add(event.type);
const response = await stream.finalResponse();
const turns = [{ role: "user", content: SCENE }, ...response.output, ...resultsOf(response)];
const replayed = await player.responses.create({ model, tools, input: turns, store: false });
ok("thinking", kinds.has("response.reasoning_summary_text.delta") && replayed.output_text.includes(RESULT));

const cities = [];
const run = ({ city }) => (cities.push(city), RESULT);
const tool = { type: "function", function: { ...about, function: run, parse: JSON.parse } };
for (const streamed of [false, true]) {
  const messages = [{ role: "user", content: SCENE }];
  const runner = player.chat.completions.runTools({ model, messages, tools: [tool], stream: streamed });
  ok(`runTools ${streamed ? "streamed" : "whole"}`, (await runner.finalContent()).includes(RESULT) && cities.pop());
}
const chat = { model, messages: [{ role: "user", content: PERSON }], response_format: zodResponseFormat(Person, "p") };
ok("chat parse", Person.parse((await demo.chat.completions.parse(chat)).choices[0].message.parsed));

const failing = [
  ["NotFoundError", demo, { model: "gone", input: PERSON }],
  ["BadRequestError", demo, { model, input: PERSON, temperature: 9 }],
  ["APIError", player, { model, tools, input: `${QUESTION} [scene: dies]` }],
];
for (const [name, client, body] of failing) {
  const error = await client.responses.stream(body).finalResponse().catch((caught) => caught);
  ok(name, error instanceof OpenAI[name] && error.message);
}
