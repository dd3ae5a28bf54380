// Vercel's AI SDK with all providers that speak to us: calls forced and chosen, whole and streamed; thoughts; structured answers; errors.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [DEMO, PLAYER] = process.argv.slice(2);
const QUESTION = "What is the weather in Paris?";
const ok = (name, good) => {
  if (!good) throw new Error(name);
  console.log(`ok ${name}`);
};
const providers = (url) => {
  const server = { baseURL: `${url}/v1`, apiKey: "unused" };
  const open = createOpenResponses({ name: "dragoman", url: `${url}/v1/responses`, apiKey: "unused" });
  return {
    compatible: createOpenAICompatible({ ...server, name: "dragoman", supportsStructuredOutputs: true }),
    chat: createOpenAI(server).chat,
    responses: createOpenAI(server),
    open,
    anthropic: createAnthropic(server),
  };
};
const cities = [];
const getWeather = tool({
  description: "Tell the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => (cities.push(city), { sky: "sunny", degrees: 21 }),
});
const called = () => cities.splice(0).length > 0;
const tools = { getWeather, get_weather: getWeather };
const told = async (stream) => {
  for await (const part of stream.fullStream) if (part.type === "error") throw part.error;
  return { text: await stream.text, reasoning: (await stream.steps).map((step) => step.reasoningText).join("") };
};

for (const [name, provider] of Object.entries(providers(DEMO))) {
  const asked = { model: provider("default"), temperature: 0, maxOutputTokens: 150, maxRetries: 0 };
  for (const toolChoice of [{ type: "tool", toolName: "getWeather" }, "required"]) {
    const prepareStep = ({ stepNumber }) => (stepNumber > 0 ? { toolChoice: "auto" } : {});
    const loop = { ...asked, toolChoice, tools: { getWeather }, prompt: QUESTION, stopWhen: stepCountIs(2), prepareStep };
    const kind = toolChoice === "required" ? "required" : "by name";
    ok(`${name} ${kind} whole`, (await generateText(loop)).text && called());
    ok(`${name} ${kind} streamed`, (await told(streamText(loop))).text && called());
  }
  const output = Output.object({ schema: z.object({ name: z.string(), age: z.number().int() }) });
  ok(`${name} structured`, (await generateText({ ...asked, output, prompt: "Bob is 31 years old." })).output);
  const gone = { model: provider("gone"), maxRetries: 0, prompt: QUESTION };
  ok(`${name} error`, (await generateText(gone).catch((error) => error)).statusCode === 404);
}

for (const [name, provider] of Object.entries(providers(PLAYER))) {
  const options = name === "responses" ? { openai: { reasoningSummary: "auto", forceReasoning: true } } : {};
  const asked = { model: provider("default"), tools, maxRetries: 0, stopWhen: stepCountIs(3), providerOptions: options };
  const { text, reasoning } = await told(streamText({ ...asked, prompt: `${QUESTION} [scene: weather]` }));
  const thoughtful = name === "chat" || reasoning.includes("They want the weather."); // it reads no thoughts from Chat
  ok(`${name} with thoughts`, text.includes("sunny") && cities.pop() === "Paris" && thoughtful);
}
